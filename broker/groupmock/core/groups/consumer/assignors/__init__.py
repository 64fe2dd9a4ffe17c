"""Reimplements the assignors of Apache Kafka's group coordinator with exactly the same results: the partitions of each member, and their
order.

Orders matter: `uniform` assigns and revokes partitions in the iteration order of Java's hash maps, so that the order decides which member
has which partition (CG-103, CG-108). Each assignor is a function of a `Group` (spec.py: members in Kafka's order); drafts.py has its
working copy. Names and order are those of Kafka's setting group.consumer.assignors.

An assignor may take seconds for a group of thousands. So each is a generator that yields after a little work (spec.Effort), and the caller
may do something else in between; the result is the same however long that takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from ....java.hash_maps import INTEGERS, STRINGS, UUIDS, HashKeys, Kind, copied_order, filled_order
from ....java.orders import SMALLEST_TABLE
from ....work import A_FEW
from . import range_assignor, uniform_heterogeneous, uniform_homogeneous
from .drafts import Computed
from .spec import Effort, Group, Member, NoTarget, Spreads, Steps, Subscription, Target, subscription_of

__all__ = [
    "ASSIGNORS", "Computed", "Effort", "Group", "Member", "NoTarget", "Spreads", "Steps", "Subscription", "Target", "assign", "stored",
    "subscription_of",
]  # fmt: skip

Assignor = Callable[[Group, Effort], Steps[dict[str, Computed]]]


def _uniform(group: Group, effort: Effort) -> Steps[dict[str, Computed]]:
    return uniform_homogeneous.assign(group, effort) if group.homogeneous else uniform_heterogeneous.assign(group, effort)


ASSIGNORS: Final[dict[str, Assignor]] = {"uniform": _uniform, "range": range_assignor.assign}
"""Maps the name of each assignor to its function. The first assignor is used in groups whose members name none."""


def assign(
    assignor: Assignor,
    members: Sequence[Member],
    topics: Mapping[str, tuple[bytes, int]],
    replaced: str | None = None,
    *,
    alike: bool,
    effort: Effort | None = None,
) -> Steps[dict[str, Target]]:
    """Compute the target assignment of each member, by member id. If the new target has the same partitions as the old one, it is the old
    object, in its old order.

    `assignor`: a value of ASSIGNORS, or that of share groups. `members`: in the order of the coordinator's member table, followed by the
    heartbeating member if it is new. `topics`: name -> (id of 16 bytes, number of partitions), for existing topics. `replaced`: the id of a
    static member in the list, whose place the last member takes and whose target the last member has; it is left out, and the last member
    has no stored target yet. `alike`: whether all subscribe alike, as Kafka decides it (`consumer.Group.alike`)."""
    if not members:
        return {}
    effort = effort or Effort()
    group = Group([members[number] for number in _member_order(members, replaced)], alike, dict(topics.values()))
    if len(members) > A_FEW:
        yield
    computed = yield from assignor(group, effort)
    newcomer = None if replaced is None else members[-1].member_id
    found = {}
    for one in group.members:
        now, old = computed.get(one.member_id, {}), {} if one.member_id == newcomer else one.target
        found[one.member_id] = old if now is old else (yield from stored(old, now, effort))
        if effort.spend(3 + len(now)):
            yield
    return found


def _member_order(members: Sequence[Member], replaced: str | None) -> Iterable[int]:
    """Return the indexes of the members in the order in which the assignor sees them. The last member may replace a static one: each of
    these changes copies the map, whose order changes with it."""
    if len(members) < 2:
        return range(len(members))
    spreads = [STRINGS.spread(one.member_id) if one.spread is None else one.spread for one in members]
    kind: Kind[int] = Kind(spreads.__getitem__, lambda number: STRINGS.rank(members[number].member_id))
    if replaced is None:
        return filled_order(kind, range(len(spreads)), SMALLEST_TABLE)
    last, gone = len(spreads) - 1, next(number for number, one in enumerate(members) if one.member_id == replaced)
    order = HashKeys(kind, keys=range(last))
    for changed in copied_order(kind, (last, gone)):
        if changed == gone:
            order.remove(changed)
        else:
            order.put(changed)
    return order


def stored(old: Target, computed: Computed, effort: Effort) -> Steps[Target]:
    """Return the member's new target in the form in which it is stored: the very same `old` if `computed` has the same partitions.

    Kafka writes an assignor's result to the log in its iteration order, and reads it back into a new map and new sets. A target with the
    same partitions as before is not written, so the old order stays (TargetAssignmentBuilder.build, Assignment.fromRecord)."""
    if _same(old, computed):
        return old
    found: Target = {}
    for topic in filled_order(UUIDS, computed.keys(), SMALLEST_TABLE) if len(computed) > 1 else computed:
        partitions = computed[topic]
        found[topic] = tuple(copied_order(INTEGERS, partitions) if len(partitions) > 1 else partitions)
        if effort.spend(10 + len(partitions) // 2):
            yield
    return found


def _same(old: Target, computed: Computed) -> bool:
    if len(old) != len(computed):
        return False
    for topic, found in computed.items():  # This loop calls no functions, because it runs for every member of a group.
        before = old.get(topic)
        if before is None or len(before) != len(found) or set(found) != set(before):
            return False
    return True
