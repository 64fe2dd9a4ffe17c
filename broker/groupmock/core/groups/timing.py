"""Sets and stops the timers of the members of groups whose coordinator assigns: session, revocation, and two for classic members of
consumer groups (CG-80 to CG-87)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec

from groupmock_codec.units import NS_PER_MS

from ..effects import Leased
from ..turn import Turn
from .type import GroupType

if TYPE_CHECKING:
    from .configs import GroupConfigs


class Rebalanced(Leased, Protocol):
    """A member that has to give up partitions or to rejoin within its rebalance timeout."""

    rebalance_timeout_ms: int


class Timing(msgspec.Struct, frozen=True):
    """The settings that a heartbeat needs, from the group's configs or else from the broker's. `assignment_ms` is called when a target
    is to be computed, because the broker's value may change at run time."""

    session_ms: int
    heartbeat_ms: int
    assignment_ms: Callable[[], int]


class TimingKeys(NamedTuple):
    """The names of the configs of a group from which the values of `Timing` come."""

    session: str
    heartbeat: str
    assignment: str


OF_CONSUMERS: Final = TimingKeys("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms", "consumer.assignment.interval.ms")
OF_SHARES: Final = TimingKeys("share.session.timeout.ms", "share.heartbeat.interval.ms", "share.assignment.interval.ms")
OF_STREAMS: Final = TimingKeys("streams.session.timeout.ms", "streams.heartbeat.interval.ms", "streams.assignment.interval.ms")


def of(configs: GroupConfigs, group_id: str, node: int, keys: TimingKeys = OF_CONSUMERS) -> Timing:
    """Return the settings of the group that a heartbeat of its members needs."""
    session, heartbeat = configs.number(group_id, keys.session), configs.number(group_id, keys.heartbeat)
    return Timing(session, heartbeat, lambda: configs.number_now(group_id, keys.assignment, node))


def renew(turn: Turn, group: GroupType, member: Leased, session_timeout_ms: int) -> None:
    """Restart the member's session after an accepted heartbeat, with the present timeout of the group (CG-81, CG-84)."""
    member.session_timeout_ms = session_timeout_ms
    deadline = turn.now + member.session_timeout_ms * NS_PER_MS
    if member.session.live and member.session.queued <= deadline:
        member.session.deadline = deadline
    else:
        member.session = turn.timers.set(("session", group.group_id, member.member_id), deadline)


def await_revocation(turn: Turn, group: GroupType, member: Rebalanced, timeout_ms: int | None = None) -> None:
    """Start the revocation timer with the member's own rebalance timeout, which no heartbeat prolongs (CG-85, CG-86)."""
    timeout_ms = member.rebalance_timeout_ms if timeout_ms is None else timeout_ms
    turn.timers.set(("revocation", group.group_id, member.member_id), turn.after(timeout_ms))


def revoked(turn: Turn, group: GroupType, member: Leased) -> None:
    turn.timers.cancel(("revocation", group.group_id, member.member_id))


def await_join(turn: Turn, group: GroupType, member: Rebalanced) -> None:
    """Start the timer of a classic member that was told to rejoin with REBALANCE_IN_PROGRESS (27), unless the timer runs already. It is
    the rebalance timeout (CG-190)."""
    key = ("member_join", group.group_id, member.member_id)
    if key not in turn.timers:
        turn.timers.set(key, turn.after(member.rebalance_timeout_ms))


def await_sync(turn: Turn, group: GroupType, member: Rebalanced) -> None:
    """Start the timer by which a classic member that joined has to send a SyncGroup, even if it sends heartbeats. It is the rebalance
    timeout (CG-190)."""
    turn.timers.cancel(("member_join", group.group_id, member.member_id))
    turn.timers.set(("member_sync", group.group_id, member.member_id), turn.after(member.rebalance_timeout_ms))


def stop_classic(turn: Turn, group: GroupType, member_id: str) -> None:
    """Stop the join and sync timers, which only classic members have."""
    turn.timers.cancel(("member_join", group.group_id, member_id))
    turn.timers.cancel(("member_sync", group.group_id, member_id))


def stop(turn: Turn, group: GroupType, member_id: str) -> None:
    turn.timers.cancel(("session", group.group_id, member_id))
    turn.timers.cancel(("revocation", group.group_id, member_id))
    stop_classic(turn, group, member_id)


def silence(member: Leased, now: int) -> int | None:
    """Return the ns since the member's last accepted heartbeat, or None if the member has no session."""
    if not member.session.live:
        return None
    return max(0, member.session_timeout_ms * NS_PER_MS - (member.session.deadline - now))
