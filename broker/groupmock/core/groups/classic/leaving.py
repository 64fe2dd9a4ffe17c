"""Members leave a classic group by LeaveGroup or because their session expires (docs/kafka/group-protocol.md#leavegroup-and-expiry).

The member leaves first. The table of states then gives the group's reaction: once, after all entries of a request (SERVER-46), but in 3.9
after each entry. In Kafka: GroupMetadataManager.classicGroupLeave and expireClassicGroupMemberHeartbeat.
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
    """Handle one entry of a LeaveGroup request. Return its error code, and True if the group has to react afterwards (`after`)."""
    # A LeaveGroup entry without member id is how an administrator removes a static member (SERVER-45).
    if not member_id and group_instance_id in group.static_members:
        member = group.members[group.static_members[group_instance_id or ""]]
        membership.remove(turn, group, member, causes.instance_removed(member.member_id, reason))
        return error_codes.NONE, True
    # Reserved ids are checked first, because a reserved id is no member and would get UNKNOWN_MEMBER_ID (25) below (SERVER-28).
    if member_id in group.pending_joins:
        return _leave_reserved(turn, group, member_id, group_instance_id)
    error = membership.validate(turn, group, member_id, group_instance_id)
    if not error:
        membership.remove(turn, group, group.members[member_id], causes.member_left(member_id, reason))
    return error, not error


def _leave_reserved(turn: Turn, group: Group, member_id: str, group_instance_id: str | None) -> tuple[int, bool]:
    membership.drop_reservation(turn, group, member_id, causes.reservation_left(member_id))
    # Kafka 4 treats a reserved id that leaves like a member, so that a Stable group rebalances without need. In Kafka 3.9 such an
    # id can only complete a join phase.
    return error_codes.NONE, group.state is PREPARING or not turn.quirks.leaving_reservation_starts_nothing


def after(turn: Turn, group: Group, why: Why) -> rebalance.PhaseOutcome:
    """Rebalance after members left, or end the join phase if it waited only for the members that left."""
    return rebalance.go_on(turn, group, ANSWERS[group.state, Question.LEFT].do, why)


def expire(turn: Turn, group: Group, member_id: str) -> bool:
    """Remove a member or a reserved id whose session has expired. Return True if that changed anything."""
    if member_id in group.pending_joins:
        why = causes.reservation_expired(member_id)
        membership.drop_reservation(turn, group, member_id, why)
        _complete_after_expiry(turn, group, why)
        return True
    member = group.members.get(member_id)
    if member is None:
        return False
    # A member that waits for an answer counts as alive (ClassicGroupMember.hasSatisfiedHeartbeat, SERVER-30). A new member does not
    # (SERVER-29).
    if not member.is_new and (member.join is not None or member.sync is not None):
        # The next answer arms the session timer again. Until then no repeated heartbeat may move the timer, which has fired.
        group.end_leases()
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
    """End the join phase after an expiry, even within the initial rebalance delay, which a join or a leave does not cut short (SERVER-10).
    Kafka 3.9 never cuts the delay short.

    Kafka 4's expiry ends the phase without maybeCompleteJoinPhase, which has the check for the initial delay."""
    if group.state is not PREPARING or not group.everybody_joined():
        return
    if not (group.previous_state is EMPTY and turn.quirks.expiry_keeps_initial_delay):
        rebalance.complete(turn, group, why)
