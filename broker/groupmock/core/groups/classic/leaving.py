"""Members that go: LeaveGroup entries and session expiry (docs/kafka/group-protocol.md#leavegroup-and-expiry).

What leaves is the member; what the group does about it is asked of the table of states once, after all entries of a request (SERVER-46), in
3.9 after each. In Kafka: GroupMetadataManager.classicGroupLeave and expireClassicGroupMemberHeartbeat.
"""

from __future__ import annotations

from groupmock_codec import error_codes

from ...turn import Turn
from .. import causes
from ..causes import Why
from . import membership, rebalance
from .group import Group, Member
from .states import ANSWERS, EMPTY, PREPARING, Do, Question


def leave(turn: Turn, group: Group, member_id: str, group_instance_id: str | None, reason: str | None) -> tuple[int, bool]:
    """One LeaveGroup entry: its error code, and whether the group has to look at itself again afterwards (`after`)."""
    if not member_id and group_instance_id in group.static_members:  # how an administrator removes a static member (SERVER-45)
        member = group.members[group.static_members[group_instance_id or ""]]
        membership.remove(turn, group, member, causes.instance_removed(member.member_id, reason))
        return error_codes.NONE, True
    if member_id in group.pending_joins:  # before the ids are checked: a reserved id is no member and would be 25 (SERVER-28)
        return _leave_reserved(turn, group, member_id, group_instance_id)
    error = membership.validate(turn, group, member_id, group_instance_id)
    if not error:
        membership.remove(turn, group, group.members[member_id], causes.member_left(member_id, reason))
    return error, not error


def _leave_reserved(turn: Turn, group: Group, member_id: str, group_instance_id: str | None) -> tuple[int, bool]:
    membership.drop_reservation(turn, group, member_id, causes.reservation_left(member_id))
    # Kafka 4 counts it as somebody that left, so that a Stable group rebalances for nothing; 3.9 looks at a join phase alone
    return error_codes.NONE, group.state is PREPARING or not turn.quirks.leaving_reservation_starts_nothing


def after(turn: Turn, group: Group, why: Why) -> rebalance.PhaseOutcome:
    """Somebody went: rebalance, or end the join phase if only they were awaited."""
    return rebalance.go_on(turn, group, ANSWERS[group.state, Question.LEFT].do, why)


def expire(turn: Turn, group: Group, member_id: str) -> bool:
    """The session of a member or of a reserved id is over. Did that change anything?"""
    if member_id in group.pending_joins:
        why = causes.reservation_expired(member_id)
        membership.drop_reservation(turn, group, member_id, why)
        _complete_after_expiry(turn, group, why)
        return True
    member = group.members.get(member_id)
    if member is None:
        return False
    # Who waits for an answer is alive by definition (ClassicGroupMember.hasSatisfiedHeartbeat, SERVER-30); who is new is not (SERVER-29).
    if not member.is_new and (member.join is not None or member.sync is not None):
        group.end_leases()  # the next answer re-arms it; until then no lease may move the dead timer
        return False
    _expire_member(turn, group, member)
    return True


def _expire_member(turn: Turn, group: Group, member: Member) -> None:
    why = causes.session_expired(member.member_id, member.session_timeout_ms, member.is_new)
    membership.remove(turn, group, member, why)
    do = ANSWERS[group.state, Question.LEFT].do
    if do is Do.COMPLETE:
        _complete_after_expiry(turn, group, why)
    else:
        rebalance.go_on(turn, group, do, why)


def _complete_after_expiry(turn: Turn, group: Group, why: Why) -> None:
    """Unlike a join or a leave, an expiry may cut the initial delay short (not in the old coordinator; SERVER-10).

    Kafka 4's expiry ends the phase without maybeCompleteJoinPhase, which is where the initial delay is looked at.
    """
    if group.state is not PREPARING or not group.everybody_joined():
        return
    if not (group.previous_state is EMPTY and turn.quirks.expiry_keeps_initial_delay):
        rebalance.complete(turn, group, why)
