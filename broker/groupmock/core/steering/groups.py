"""Steering a group: force a rebalance, hold it in a state and release it, end its delay now."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ..effects import TimerFired
from ..group import rebalance
from ..group.states import COMPLETING, EMPTY, PREPARING, STABLE, State
from ..turn import Turn
from .doors import Doors, Hold
from .find import group_of
from .register import Arguments, BadArguments, Group, NotNow, steers

HOLDABLE = (EMPTY, PREPARING, COMPLETING, STABLE)


def doors_of(turn: Turn) -> Doors:
    """The cluster's doors; there are some from now on."""
    if turn.cluster.doors is None:
        turn.cluster.doors = Doors(turn.cluster)
    return turn.cluster.doors


def not_held(turn: Turn, group_id: str, what: str) -> None:
    """Raises NotNow when the group is held in the state it is in: nothing may move it."""
    doors, group = turn.cluster.doors, turn.cluster.coordinators.find(group_id)
    hold = doors.holds.get(group_id) if doors is not None else None
    if hold is not None and group is not None and group.state is hold.state:
        raise NotNow(f"group {group_id!r} is held in {hold.state}: release it before you {what}")


class ForceRebalance(Arguments):
    """Let a group rebalance now, as if a member had asked for it: its members learn of it from their heartbeats (27)."""

    group: Group
    reason: Annotated[str, Meta(description="for the journal and the group's story")] = "it was told to"


@steers("force_rebalance", ForceRebalance)
def force_rebalance(turn: Turn, wish: ForceRebalance) -> None:
    """Stable and CompletingRebalance become PreparingRebalance, as Kafka's prepareRebalance does."""
    group = group_of(turn.cluster, wish.group)
    if group.state not in (COMPLETING, STABLE):
        raise NotNow(f"group {wish.group!r} is {group.state}: only a Stable or a CompletingRebalance group can be made to rebalance")
    not_held(turn, wish.group, "let it rebalance")
    rebalance.prepare(turn, group, wish.reason)


class HoldGroup(Arguments):
    """Keep a group in a state: at once if it is there, else as soon as it gets there. The group need not exist yet.

    What would move it waits, unanswered, until the group is released: joins, leaves, the leader's SyncGroup, sessions that expire.
    In PreparingRebalance members join as ever, but the phase does not end.
    """

    group: Group
    state: Annotated[State, Meta(description="Empty, PreparingRebalance, CompletingRebalance or Stable")]


@steers("hold_group", HoldGroup)
def hold_group(turn: Turn, wish: HoldGroup) -> None:
    """Held in another state before: released first."""
    if wish.state not in HOLDABLE:
        raise BadArguments(f"hold_group: no group can be held in {wish.state}: there are {', '.join(HOLDABLE)}")
    doors = doors_of(turn)
    if wish.group in doors.holds and doors.holds[wish.group].state is wish.state:
        return
    _let_go(turn, doors, wish.group)
    doors.holds[wish.group] = Hold(wish.state)
    _end_leases(turn, wish.group)


class ReleaseGroup(Arguments):
    """Let a held group go on, and joins that were let in in an order: what waited happens now, in order of arrival. Harmless otherwise."""

    group: Group


@steers("release_group", ReleaseGroup)
def release_group(turn: Turn, wish: ReleaseGroup) -> None:
    """A group that nobody holds must at least exist."""
    doors = doors_of(turn)
    if wish.group not in doors.holds and wish.group not in doors.orders and wish.group not in doors.leaders:
        group_of(turn.cluster, wish.group)
    doors.leaders.pop(wish.group, None)
    _let_go(turn, doors, wish.group)


def _let_go(turn: Turn, doors: Doors, group_id: str) -> None:
    hold, order = doors.holds.pop(group_id, None), doors.orders.pop(group_id, None)
    _end_leases(turn, group_id)
    if hold is not None and hold.state is PREPARING:
        _end_phase_if_due(turn, group_id)
    if hold is not None:
        doors.released(turn, hold.waiting)
    if order is not None:
        doors.released(turn, list(order.waiting))


def _end_phase_if_due(turn: Turn, group_id: str) -> None:
    group = turn.cluster.coordinators.find(group_id)
    if group is None or group.state is not PREPARING:
        return
    over = ("join", group_id) not in turn.timers
    if over or (group.previous_state is not EMPTY and group.everybody_joined()):
        rebalance.complete(turn, group, "the group was released")


def _end_leases(turn: Turn, group_id: str) -> None:
    group = turn.cluster.coordinators.find(group_id)
    if group is not None:
        group.end_leases()


class CompleteDelay(Arguments):
    """End a group's join phase now, as if its initial delay or its rebalance timeout were over."""

    group: Group


@steers("complete_delay", CompleteDelay)
def complete_delay(turn: Turn, wish: CompleteDelay) -> None:
    """Members that have not joined by now are removed, as when the join timer fires."""
    group = group_of(turn.cluster, wish.group)
    key = ("join", wish.group)
    if group.state is not PREPARING or key not in turn.timers:
        raise NotNow(f"group {wish.group!r} is {group.state}: there is a delay to end in PreparingRebalance only")
    not_held(turn, wish.group, "end its delay")
    turn.timers.cancel(key)
    turn.out.append(TimerFired("join", (wish.group,)))
    rebalance.complete(turn, group, "its delay was ended")
