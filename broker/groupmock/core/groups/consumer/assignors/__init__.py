"""The assignors of Apache Kafka's coordinator, exactly: who gets which partitions, and in which order they are kept.

Orders are not decoration: `uniform` takes and gives partitions in the iteration order of Java's hash maps, so that order decides who has
what (CG-103, CG-108). Each assignor is a function of a `Group` (spec.py: members in Kafka's order); what it works on and what is stored of
its result is in drafts.py. Names and order are those of Kafka's setting group.consumer.assignors.

A group of thousands takes an assignor seconds. So each is a generator that yields whenever it has done a little (spec.Effort), and whoever
asks may do something else in between; the result is the same however long that takes.
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
"""Assignors by the names that members and settings give; the first is for groups in which nobody names one."""


def assign(
    assignor: str,
    members: Sequence[Member],
    topics: Mapping[str, tuple[bytes, int]],
    replaced: str | None = None,
    *,
    alike: bool,
    effort: Effort | None = None,
) -> Steps[dict[str, Target]]:
    """Member id -> its new target; where that has the same partitions as the old one it is the old one itself, in its old order.

    `assignor`: a name of ASSIGNORS. `members`: in the order of the coordinator's member table, then the heartbeating member if it is
    new. `topics`: name -> (id of 16 bytes, number of partitions), those that exist. `replaced`: the id of the static member, among the
    members, whose place the last of them takes and whose target that one has. It is left out, and nothing is stored yet of the other.
    `alike`: do they subscribe alike, as Kafka judges it (`consumer.Group.alike`)?
    """
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
