"""Commands for a group force a rebalance, set the generation, hold the group in a state and release it, or end its join phase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from ..effects import TimerFired
from ..events import Command
from ..groups import causes
from ..groups.classic import rebalance, storage
from ..groups.classic.states import COMPLETING, EMPTY, PREPARING, STABLE
from ..groups.classic.type import ClassicGroup
from .find import classic_group_of, group_of
from .holds import HOLDABLE, Hold, OperatorHolds, holds_of
from .register import Arguments, BadArguments, Group, NotNow, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..turn import Turn


def not_held(cluster: Cluster, group_id: str, what: str) -> None:
    """Refuse a command if the group is held in its present state. Raises NotNow."""
    held, group = cluster.environment.holds.of(group_id).state, cluster.groups.find(group_id)
    if group is not None and group.state == held:
        raise NotNow(f"group {group_id!r} is held in {held}: release it before you {what}")


class ForceRebalance(Arguments):
    """Start a rebalance of the group now, of which its members learn from their heartbeats (27)."""

    group: Group
    reason: Annotated[str, Meta(description="for the journal and the group's story")] = "it was told to"


@steers("force_rebalance", ForceRebalance)
def force_rebalance(cluster: Cluster, arguments: ForceRebalance, turn: Turn) -> None:
    """Move a Stable or CompletingRebalance group to PreparingRebalance, as Kafka's prepareRebalance does."""
    group = classic_group_of(cluster, arguments.group)
    if group.state not in (COMPLETING, STABLE):
        raise NotNow(f"group {arguments.group!r} is {group.state}: only a Stable or a CompletingRebalance group can be made to rebalance")
    not_held(cluster, arguments.group, "let it rebalance")
    rebalance.prepare(turn, group, causes.forced(arguments.reason))


class SetGeneration(Arguments):
    """Give a group another generation without telling its members, whose requests are then refused with ILLEGAL_GENERATION (22) until they
    join again. Members, leader and assignments stay.

    A higher generation is like rebalances whose answers were lost. A lower one is like a coordinator that took over a log without the last
    rebalances, so that members know a generation that never existed."""

    group: Group
    generation: Annotated[
        Annotated[int, Meta(ge=1, le=2**31 - 2)] | None, Meta(description="which, but the one that it has; null: the next one")
    ] = None


@steers("set_generation", SetGeneration)
def set_generation(cluster: Cluster, arguments: SetGeneration, turn: Turn) -> None:
    """Set the generation of a Stable or Empty group, because only groups in these states can be loaded from a log
    (docs/kafka/group-protocol.md#load-unload-deletion)."""
    group = classic_group_of(cluster, arguments.group)
    if group.state not in (EMPTY, STABLE):
        raise NotNow(f"group {arguments.group!r} is {group.state}: the generation can be set of a Stable or an Empty group only")
    before = group.generation
    after = before + 1 if arguments.generation is None else arguments.generation
    if after == before:
        raise NotNow(f"group {arguments.group!r} is in generation {before} already: name another one, or none for the next")
    group.set_generation(after)
    turn.group_moved(group, group.state, causes.generation_set(before))
    storage.store(turn, group)


class HoldGroup(Arguments):
    """Keep a group in a state, now or as soon as the group reaches it. The group need not exist yet.

    Requests and timers that would change the state wait, unanswered, until the group is released: joins, leaves, the leader's SyncGroup,
    sessions that expire. In PreparingRebalance members join as usual, but the phase does not end.

    In a consumer group these wait: heartbeats that join, leave or change the subscription, expired sessions and expired revocations, and
    in Assigning every heartbeat (the next one would compute the target). In Reconciling members continue as usual, but the heartbeats of
    the last member that has not reached its target wait. A waiting heartbeat does not renew the session before it is released. The same
    holds in a streams group; there a heartbeat waits if it has a process id, a rack, tags, an endpoint or another timeout."""

    group: Group
    state: Annotated[str, Meta(description="the state", extra_json_schema={"enum": list(HOLDABLE)})]


@steers("hold_group", HoldGroup)
def hold_group(cluster: Cluster, arguments: HoldGroup, turn: Turn) -> None:
    """Hold the group in the state. A group that is held in another state is released first."""
    if arguments.state not in HOLDABLE:
        raise BadArguments(f"hold_group: no group can be held in {arguments.state}: there are {', '.join(HOLDABLE)}")
    group, holds = cluster.groups.find(arguments.group), holds_of(cluster)
    if group is not None and arguments.state not in group.may_follow:
        raise NotNow(f"group {arguments.group!r} is a {group.group_type} group: it is never in {arguments.state}")
    if arguments.group in holds.groups and holds.groups[arguments.group].state == arguments.state:
        return
    # The former hold is released first, so that the requests and timers that wait for it happen before the new hold begins.
    if _let_go(cluster, turn, holds, arguments.group):
        turn.environment.ready.append(Command("hold_group", {"group": arguments.group, "state": arguments.state}))
        return
    holds.groups[arguments.group] = Hold(arguments.state)
    _end_leases(cluster, arguments.group)


class ReleaseGroup(Arguments):
    """Release a held group, or JoinGroups that wait for an order: the waiting requests are handled now, in order of arrival. A group
    without a hold does not change."""

    group: Group


@steers("release_group", ReleaseGroup)
def release_group(cluster: Cluster, arguments: ReleaseGroup, turn: Turn) -> None:
    """Release everything that commands hold back of the group. A group that is not held must at least exist."""
    holds = holds_of(cluster)
    if arguments.group not in holds.groups and arguments.group not in holds.orders and arguments.group not in holds.leaders:
        group_of(cluster, arguments.group)
    holds.leaders.pop(arguments.group, None)
    _let_go(cluster, turn, holds, arguments.group)


def _let_go(cluster: Cluster, turn: Turn, holds: OperatorHolds, group_id: str) -> bool:
    """Release everything that commands hold back of the group, and return whether anything was held back."""
    hold, order = holds.groups.pop(group_id, None), holds.orders.pop(group_id, None)
    _end_leases(cluster, group_id)
    if hold is not None and hold.state == PREPARING:
        _end_phase_if_due(cluster, turn, group_id)
    waiting = [*(hold.waiting if hold is not None else ()), *(order.waiting if order is not None else ())]
    holds.release(waiting)
    return bool(waiting)


def _end_phase_if_due(cluster: Cluster, turn: Turn, group_id: str) -> None:
    group = cluster.groups.find(group_id)
    if not isinstance(group, ClassicGroup) or group.state is not PREPARING:
        return
    # If the join timer fired while the phase was held, it does not fire again, and nothing else would end the phase.
    over = ("join", group_id) not in turn.timers
    if over or (group.previous_state is not EMPTY and group.everybody_joined()):
        rebalance.complete(turn, group, causes.RELEASED)


def _end_leases(cluster: Cluster, group_id: str) -> None:
    group = cluster.groups.find(group_id)
    if group is not None:
        group.end_leases()


class CompleteDelay(Arguments):
    """End a group's join phase now, as if its initial delay or its rebalance timeout were over."""

    group: Group


@steers("complete_delay", CompleteDelay)
def complete_delay(cluster: Cluster, arguments: CompleteDelay, turn: Turn) -> None:
    """End the join phase of the group now. Members that have not joined are removed, as when the join timer fires."""
    group = classic_group_of(cluster, arguments.group)
    key = ("join", arguments.group)
    if group.state is not PREPARING or key not in turn.timers:
        raise NotNow(f"group {arguments.group!r} is {group.state}: there is a delay to end in PreparingRebalance only")
    not_held(cluster, arguments.group, "end its delay")
    turn.timers.cancel(key)
    turn.out.append(TimerFired("join", (arguments.group,)))
    rebalance.complete(turn, group, causes.DELAY_ENDED)
