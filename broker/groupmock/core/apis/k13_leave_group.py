"""LeaveGroup (13) removes one member up to v2, and since v3 a list of members with an error each (KIP-345).
docs/kafka/group-protocol.md#leavegroup-and-expiry"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse

from ..authorizer.acl import GROUP, READ
from ..authorizer.right import Right
from ..budget import take
from ..groups import causes
from ..groups.causes import Why
from ..groups.classic import leaving
from ..groups.classic.rebalance import FAILED
from ..groups.classic.type import ClassicGroup
from ..groups.consumer import membership
from ..groups.kinds import is_consumer

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

ENTRY_COST: Final = 12
FEW: Final = 10

RIGHTS: Final = (Right(READ, GROUP, "group_id"),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Remove the members in request order. The rebalance is decided once, after all of them (Kafka 4)."""
    message = request.message
    assert isinstance(message, LeaveGroupRequest)
    entries = message.members if request.version >= 3 else [MemberIdentity(member_id=message.member_id)]
    take(turn.settings, len(entries), ENTRY_COST)
    error = _gate(cluster, turn, request, message)
    errors = [] if error else _leave(cluster, turn, message.group_id, entries)
    if errors is None:
        # The LeaveGroup ended a join phase whose completion failed, which fails the request as a whole.
        error, errors = error_codes.UNKNOWN_SERVER_ERROR, []
    turn.reply(request.ticket, _answer(request.version, error, entries, errors))


def _gate(cluster: Cluster, turn: Turn, request: Request, message: LeaveGroupRequest) -> int:
    if not message.group_id:
        return error_codes.INVALID_GROUP_ID
    return cluster.groups.gate(message.group_id, request.node)


def _answer(version: int, error: int, entries: list[MemberIdentity], errors: list[int]) -> LeaveGroupResponse:
    if version < 3:
        return LeaveGroupResponse(error_code=error or (errors[0] if errors else error_codes.NONE))
    # strict=False allows a request that failed as a whole: it has no codes, and its answer no members (P1-b1). Ids are echoed as sent
    # (SERVER-45).
    told = [
        MemberResponse(member_id=entry.member_id, group_instance_id=entry.group_instance_id, error_code=code)
        for entry, code in zip(entries, errors, strict=False)
    ]
    return LeaveGroupResponse(error_code=error, members=told)


def _leave(cluster: Cluster, turn: Turn, group_id: str, entries: list[MemberIdentity]) -> list[int] | None:
    """Remove the members of a LeaveGroup, and return an error code per entry, or None if the request fails as a whole."""
    group = cluster.groups.find(group_id)
    if is_consumer(group):
        errors = membership.leave(turn, group, entries)
        cluster.groups.convert(turn, group)
        return errors
    if not isinstance(group, ClassicGroup):
        # Each entry has the error, while the top-level error of v3 and later stays 0, even with an empty list (SERVER-47, P2-d4).
        return [error_codes.UNKNOWN_MEMBER_ID] * len(entries)
    if len(entries) <= FEW:
        return _each(turn, group, entries)
    with group.leaving():
        return _each(turn, group, entries)


def _each(turn: Turn, group: ClassicGroup, entries: list[MemberIdentity]) -> list[int] | None:
    errors, gone = [], []
    for entry in entries:
        error, matters = leaving.leave(turn, group, entry.member_id, entry.group_instance_id, entry.reason)
        errors.append(error)
        # In Kafka 3.9 the first entry may end the join phase, so that the parked JoinGroup of a member in a later entry is answered first:
        # docs/kafka/differences.md#groups
        if matters and turn.quirks.leaves_one_by_one:
            if leaving.after(turn, group, _why([entry])) is FAILED:
                return None
        elif matters:
            gone.append(entry)
    if gone and leaving.after(turn, group, _why(gone)) is FAILED:
        return None
    return errors


def _why(gone: list[MemberIdentity]) -> Why:
    return causes.members_left([(entry.member_id, entry.group_instance_id, entry.reason) for entry in gone])
