"""Every member and every reserved id has a session timer (docs/kafka/group-protocol.md#timers).

A valid Heartbeat, an accepted commit, or an answer renews the session. A parked JoinGroup or SyncGroup does not, but its answer does. A
renewed session keeps its place in the heap and only its deadline moves: Timers checks it at the old deadline.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from groupmock_codec.units import NS_PER_MS

from ...timers import Key, Timer
from ...turn import Turn
from .group import Group, Member

NEW_MEMBER_MS: Final = 300_000
"""The time that a new member may wait for its first answer, whatever its session timeout is (KAFKA-7610)."""


def key(group: Group, member_id: str) -> Key:
    return ("session", group.group_id, member_id)


def reserve(turn: Turn, group: Group, member_id: str, session_timeout_ms: int) -> None:
    """Start the session timer of a reserved member id. It uses the session timeout of the request that reserved it, whatever the next
    request says (P1-d13)."""
    turn.timers.set(key(group, member_id), turn.after(session_timeout_ms))


def begin(turn: Turn, group: Group, member_id: str, session_timeout_ms: int) -> Timer:
    """Start and return the session timer of a new member, which fires after 300 s.

    It is queued for the member's own timeout already, so that re-arming it at the end of the join phase is a mere assignment instead of a
    second entry in the heap (10,000 members end their join phase in one call)."""
    timer = turn.timers.set(("session", group.group_id, member_id), turn.after(min(session_timeout_ms, NEW_MEMBER_MS)))
    timer.deadline = turn.now + NEW_MEMBER_MS * NS_PER_MS
    return timer


def renew(turn: Turn, group: Group, member: Member) -> None:
    """Restart the member's session after a request or an answer that renews it. The code is flat, because the end of a phase does this
    for every member."""
    deadline = turn.now + member.session_timeout_ms * NS_PER_MS
    timer = member.session
    if timer.live and timer.queued <= deadline:
        timer.deadline = deadline
    else:
        arm(turn, group, member, member.session_timeout_ms)


def renew_all(turn: Turn, group: Group, members: Iterable[Member], since: int) -> None:
    """Restart the sessions of many members in one loop, because a join phase may end with 10,000 members. They count from `since` (ns of
    the run), which is the same for all members although later ones come in later steps."""
    deadlines: dict[int, int] = {}
    for member in members:
        timeout = member.session_timeout_ms
        deadline = deadlines.get(timeout)
        if deadline is None:
            deadline = deadlines[timeout] = since + max(timeout, 0) * NS_PER_MS
        timer = member.session
        if not timer.live or timer.queued > deadline:
            member.session = turn.timers.set(key(group, member.member_id), deadline)
        elif timer.beats is None:  # The setter of `deadline` is a call, and most of these members have repeated no heartbeat yet.
            timer.set_to = deadline
        else:
            timer.deadline = deadline


def arm(turn: Turn, group: Group, member: Member, timeout_ms: int) -> None:
    """Set the member's session timer to fire after `timeout_ms`."""
    deadline = turn.after(timeout_ms)
    timer = member.session
    if timer.live and timer.queued <= deadline:
        timer.deadline = deadline
    else:
        member.session = turn.timers.set(key(group, member.member_id), deadline)


def silence(member: Member, now: int) -> int | None:
    """Return the ns since the session was last renewed, or None before the member's first answer and without a session."""
    left, whole = member.session.deadline - now, member.session_timeout_ms * NS_PER_MS
    return max(0, whole - left) if member.session.live and left <= whole else None


def end(turn: Turn, group: Group, member_id: str) -> None:
    turn.timers.cancel(key(group, member_id))
