"""The assignors of Apache Kafka's coordinator with exactly the same results: the partitions of each member, and their order.

Orders matter: `uniform` assigns and revokes partitions in the iteration order of Java's hash maps, so that the order decides which member
has which partition (CG-103, CG-108). Each assignor is a function of a `Group` (spec.py: members in Kafka's order); drafts.py has its
working copy and the stored form of its result. Names and order are those of Kafka's setting group.consumer.assignors.

An assignor may take seconds for a group of thousands. So each is a generator that yields after a little work (spec.Effort), and the caller
may do something else in between; the result is the same however long that takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ....work import A_FEW
from . import range_assignor, uniform_heterogeneous, uniform_homogeneous
from .drafts import Computed, stored
from .spec import Effort, Group, Member, Spreads, Steps, Subscription, Target, group_of, subscription_of

__all__ = [
    "ASSIGNORS", "Effort", "Member", "Spreads", "Steps", "Subscription", "Target", "assign", "stored", "subscription_of",
]  # fmt: skip

Assignor = Callable[[Group, Effort], Steps[dict[str, Computed]]]


def _uniform(group: Group, effort: Effort) -> Steps[dict[str, Computed]]:
    return uniform_homogeneous.assign(group, effort) if group.homogeneous else uniform_heterogeneous.assign(group, effort)


ASSIGNORS: Final[dict[str, Assignor]] = {"uniform": _uniform, "range": range_assignor.assign}
"""Assignors by their names in members and settings; the first is for groups in which no member names one."""


def assign(
    assignor: str,
    members: Sequence[Member],
    topics: Mapping[str, tuple[bytes, int]],
    replaced: str | None = None,
    *,
    alike: bool,
    effort: Effort | None = None,
) -> Steps[dict[str, Target]]:
    """Return the new target of each member by its id. If the new target has the same partitions as the old one, it is the old object, in
    its old order.

    `assignor`: a name in ASSIGNORS. `members`: in the order of the coordinator's member table, followed by the heartbeating member if it
    is new. `topics`: name -> (id of 16 bytes, number of partitions), for existing topics. `replaced`: the id of a static member in the
    list, whose place the last member takes and whose target the last member has; it is left out, and the last member has no stored target
    yet. `alike`: whether all subscribe alike, as Kafka decides it (`consumer.Group.alike`)."""
    if not members:
        return {}
    effort = effort or Effort()
    group = group_of(members, topics, replaced, alike)
    if len(members) > A_FEW:
        yield
    computed = yield from ASSIGNORS[assignor](group, effort)
    newcomer = None if replaced is None else members[-1].member_id
    found = {}
    for one in group.members:
        now, old = computed.get(one.member_id, {}), {} if one.member_id == newcomer else one.target
        found[one.member_id] = old if now is old else (yield from stored(old, now, effort))
        if effort.spend(3 + len(now)):
            yield
    return found
