"""Heartbeat (12) renews the session of a member of a classic group (docs/kafka/group-protocol.md#heartbeat). An answer without error
comes with a lease: the driver may repeat it while the group's epoch stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse

from ..authorizer.acl import GROUP, READ
from ..authorizer.right import Right
from ..effects import Lease
from ..groups.classic import membership, sessions
from ..groups.classic.states import ANSWERS, HEARTBEAT
from ..groups.classic.type import ClassicGroup
from ..groups.kinds import is_consumer

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..groups.type import GroupType
    from ..turn import Turn

RIGHTS: Final = (Right(READ, GROUP, "group_id"),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Do the checks H1 to H8 of the documentation, in this order."""
    message = request.message
    assert isinstance(message, HeartbeatRequest)
    error, lease = _beat(cluster, turn, request.node, message)
    turn.reply(request.ticket, HeartbeatResponse(error_code=error), lease)


def _beat_of_consumers(turn: Turn, group: GroupType | None, message: HeartbeatRequest) -> tuple[int, Lease | None]:
    if not is_consumer(group):
        return error_codes.UNKNOWN_MEMBER_ID, None
    # This import comes late, because most clusters have no consumer group with classic members.
    from ..groups.consumer import classic_members

    return classic_members.beat(turn, group, message.member_id, message.group_instance_id, message.generation_id)


def _beat(cluster: Cluster, turn: Turn, node: int, message: HeartbeatRequest) -> tuple[int, Lease | None]:
    if not message.group_id:
        return error_codes.INVALID_GROUP_ID, None
    error, group = cluster.groups.reach(message.group_id, node)
    if error:
        # A group that is still loading is answered without error, because Kafka checks no member before the log is read (H8). This answer
        # may not be repeated without asking the core, because the member is not known yet.
        return (error_codes.NONE if error == error_codes.COORDINATOR_LOAD_IN_PROGRESS else error), None
    if not isinstance(group, ClassicGroup):
        return _beat_of_consumers(turn, group, message)
    # A reserved id is no member (H3), and an unknown id gets UNKNOWN_MEMBER_ID (25) whatever its generation is.
    error = membership.validate(turn, group, message.member_id, message.group_instance_id)
    if error:
        return error, None
    if message.generation_id != group.generation:
        return error_codes.ILLEGAL_GENERATION, None
    member, answer = group.members[message.member_id], ANSWERS[group.state, HEARTBEAT]
    # REBALANCE_IN_PROGRESS (27) renews the session as well, so that a member that was told to rejoin does not expire first (SERVER-43).
    if answer.renews:
        sessions.renew(turn, group, member)
    # A lease lets the connection repeat this answer without asking the core. A repeated heartbeat is recognized by its bytes and not
    # decoded, so that it takes 0.52 µs instead of 1.10 (docs/kafka/limits.md#heartbeats).
    return answer.error, None if answer.error else Lease(group, member, group.epoch)
