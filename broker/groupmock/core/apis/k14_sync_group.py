"""SyncGroup (14) does the checks S4 to S6 in this order, and then follows the table of states (docs/kafka/group-protocol.md#syncgroup)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest

from ..authorizer.acl import GROUP, READ
from ..authorizer.right import Right
from ..budget import take
from ..groups.classic import answers, membership, rebalance, sessions
from ..groups.classic.states import ANSWERS, COLLECT, SYNC, Do
from ..groups.classic.type import ClassicGroup
from ..groups.kinds import is_consumer

if TYPE_CHECKING:
    from groupmock_codec.messages.k14_sync_group import SyncGroupResponse

    from ..cluster import Cluster
    from ..events import Request
    from ..groups.classic.group import Group
    from ..groups.type import GroupType
    from ..turn import Turn

FREE: Final = 100  # A SyncGroup with at most this many assignments does not count as work (core.budget).

RIGHTS: Final = (Right(READ, GROUP, "group_id", when=lambda request: not _lacks_names(request)),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer the SyncGroup at once, or park it until the leader sends the assignments."""
    message = request.message
    assert isinstance(message, SyncGroupRequest)
    if len(message.assignments) > FREE:
        take(turn.settings, len(message.assignments))
    error, group = _gate(cluster, turn, request, message)
    if is_consumer(group):
        # This import comes late, because most clusters have no consumer group with classic members.
        from ..groups.consumer import classic_members

        turn.reply(request.ticket, classic_members.sync(turn, group, message, request.version))
        return
    if not isinstance(group, ClassicGroup):
        # A refused SyncGroup has an empty assignment, not null (S1, P1-d5).
        turn.reply(request.ticket, answers.sync_refused(error or error_codes.UNKNOWN_MEMBER_ID))
        return
    error = _checked(turn, group, request.version, message)
    if error:
        turn.reply(request.ticket, answers.sync_refused(error))
        return
    answer, member = ANSWERS[group.state, SYNC], group.members[message.member_id]
    if answer.do is COLLECT:
        rebalance.collect(turn, group, member, request, message)
    elif answer.do is Do.ASSIGNMENT:
        # A member that got its assignment need not send another SyncGroup; otherwise the sync timer would remove it (SERVER-41).
        rebalance.settle(turn, group, member)
        # In Kafka 3.9 a SyncGroup renews the session (P1-c3).
        if turn.quirks.sync_renews_session:
            sessions.renew(turn, group, member)
        turn.reply(request.ticket, answers.synced(group, request.version, member))
    else:
        turn.reply(request.ticket, answers.sync_refused(answer.error))


def _gate(cluster: Cluster, turn: Turn, request: Request, message: SyncGroupRequest) -> tuple[int, GroupType | None]:
    """Check what does not depend on the group's state or members, and return an error code or the group. A null type or name (v5) is
    checked first (KIP-559, SERVER-39)."""
    if _lacks_names(request):
        return error_codes.INCONSISTENT_GROUP_PROTOCOL, None
    if not message.group_id:
        return error_codes.INVALID_GROUP_ID, None
    error, group = cluster.groups.reach(message.group_id, request.node)
    # Kafka 3.9 answers REBALANCE_IN_PROGRESS (27), which makes the member rejoin (P2-c1). Kafka 4.3 answers COORDINATOR_LOAD_IN_PROGRESS
    # (14), which is fatal to the Java client (docs/kafka/clients.md#the-java-classic-client).
    if error == error_codes.COORDINATOR_LOAD_IN_PROGRESS and turn.quirks.sync_while_loading_rebalances:
        return error_codes.REBALANCE_IN_PROGRESS, None
    return error, group


def _lacks_names(request: Request) -> bool:
    message = request.message
    assert isinstance(message, SyncGroupRequest)
    return request.version >= 5 and (message.protocol_type is None or message.protocol_name is None)


def _checked(turn: Turn, group: Group, version: int, message: SyncGroupRequest) -> int:
    """Do the checks S4 to S6 of a SyncGroup: member, generation, and protocol."""
    error = membership.validate(turn, group, message.member_id, message.group_instance_id)
    if error:
        return error
    if message.generation_id != group.generation:
        return error_codes.ILLEGAL_GENERATION
    return error_codes.INCONSISTENT_GROUP_PROTOCOL if version >= 5 and not _names_fit(turn, group, message) else error_codes.NONE


def _names_fit(turn: Turn, group: Group, message: SyncGroupRequest) -> bool:
    """Check, as rule S6 says, that the protocol type and name of the SyncGroup are those of the group. The old coordinator refuses every
    name in a group that never had a generation."""
    if message.protocol_type != group.protocol_type:
        return False
    # In the initial delay Kafka 3.9 answers INCONSISTENT_GROUP_PROTOCOL (23) instead of REBALANCE_IN_PROGRESS (27) (P1-c5).
    if group.protocol_name is None:
        return not turn.quirks.sync_before_first_generation_inconsistent
    # Kafka does not distinguish null and "" in a protocol name (docs/kafka/apis.md#gates-in-front-of-the-coordinator).
    return (message.protocol_name or "") == (group.protocol_name or "")


def refused(request: Request, code: int, text: str) -> SyncGroupResponse:
    return answers.sync_refused(code)
