"""Members that go: LeaveGroup entries and session expiry (spec 2.11)."""

from __future__ import annotations

from ..turn import Turn
from . import codes, membership, rebalance
from .group import Group, Member
from .states import ANSWERS, EMPTY, PREPARING, Ask, Do


class WholeRequestFails(Exception):
    """2.8 only: an entry with a reserved id and an unmapped instance id makes the whole LeaveGroup -1."""


def leave(turn: Turn, group: Group, member_id: str, group_instance_id: str | None, reason: str | None) -> tuple[int, bool]:
    """One LeaveGroup entry: its error code, and whether the group has to look at itself again afterwards (`after`)."""
    told = f": {reason}" if reason else ""
    if not member_id and group_instance_id in group.static_members:
        member = group.members[group.static_members[group_instance_id or ""]]
        membership.remove(turn, group, member, f"member {member.member_id} was removed by its instance id{told}")
        return codes.NONE, True
    if member_id in group.pending_joins:
        return _leave_reserved(turn, group, member_id, group_instance_id)
    error = membership.validate(turn, group, member_id, group_instance_id)
    if not error:
        membership.remove(turn, group, group.members[member_id], f"member {member_id} left{told}")
    return error, not error


def _leave_reserved(turn: Turn, group: Group, member_id: str, group_instance_id: str | None) -> tuple[int, bool]:
    if group_instance_id is not None and turn.quirks.reserved_id_with_instance_fails_leave:
        if group_instance_id in group.static_members:
            return codes.FENCED_INSTANCE_ID, False
        raise WholeRequestFails
    membership.drop_reservation(turn, group, member_id, f"the reserved id {member_id} left")
    return codes.NONE, group.state is PREPARING or not turn.quirks.leaving_reservation_starts_nothing


def after(turn: Turn, group: Group, why: str) -> rebalance.Outcome:
    """Somebody went: rebalance, or end the join phase if only they were awaited."""
    return rebalance.go_on(turn, group, ANSWERS[group.state, Ask.LEFT].do, why)


def expire(turn: Turn, group: Group, member_id: str) -> bool:
    """The session of a member or of a reserved id is over. Did that change anything?"""
    if member_id in group.pending_joins:
        why = f"the reserved id {member_id} was not used in time"
        membership.drop_reservation(turn, group, member_id, why)
        _complete_after_expiry(turn, group, why)
        return True
    member = group.members.get(member_id)
    if member is None:
        return False
    if not member.is_new and (member.join is not None or member.sync is not None):
        group.end_leases()  # the next answer re-arms it; until then no lease may move the dead timer
        return False
    _expire_member(turn, group, member)
    return True


def _expire_member(turn: Turn, group: Group, member: Member) -> None:
    waited = "before its first answer" if member.is_new else f"after {member.session_timeout_ms} ms"
    why = f"session of {member.member_id} expired {waited}"
    membership.remove(turn, group, member, why)
    do = ANSWERS[group.state, Ask.LEFT].do
    if do is Do.COMPLETE:
        _complete_after_expiry(turn, group, why)
    else:
        rebalance.go_on(turn, group, do, why)


def _complete_after_expiry(turn: Turn, group: Group, why: str) -> None:
    """Unlike a join or a leave, an expiry may cut the initial delay short (not in the old coordinator, spec 2.5)."""
    if group.state is not PREPARING or not group.everybody_joined():
        return
    if not (group.previous_state is EMPTY and turn.quirks.expiry_keeps_initial_delay):
        rebalance.complete(turn, group, why)
