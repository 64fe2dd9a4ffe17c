"""The assignors of Apache Kafka's coordinator, exactly: who gets which partitions, and in which order they are kept.

Orders are not decoration: `uniform` takes and gives partitions in the iteration order of Java's hash maps, so that order decides who has
what (CG-103, CG-108). Each assignor is a function of a `Group` (spec.py: members in Kafka's order); what it works on and what is stored of
its result is in drafts.py. Names and order are those of Kafka's setting group.consumer.assignors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from . import range_assignor, uniform_heterogeneous, uniform_homogeneous
from .drafts import Computed, stored
from .spec import Group, Subscriber, Target, group_of

__all__ = ["ASSIGNORS", "Subscriber", "Target", "assign", "stored"]


def _uniform(group: Group) -> dict[str, Computed]:
    return uniform_homogeneous.assign(group) if group.homogeneous else uniform_heterogeneous.assign(group)


ASSIGNORS: Final[dict[str, Callable[[Group], dict[str, Computed]]]] = {"uniform": _uniform, "range": range_assignor.assign}
"""By the names that members and settings give; the first is the one for groups in which nobody names one."""


def assign(
    assignor: str,
    subscribers: Sequence[Subscriber],
    topics: Mapping[str, tuple[bytes, int]],
    replaced: str | None = None,
    *,
    alike: bool,
) -> dict[str, Target]:
    """Member id -> its new target; where that has the same partitions as the old one it is the old one itself, in its old order.

    `assignor`: a name of ASSIGNORS. `subscribers`: in the order of the coordinator's member table, then the heartbeating member if it is
    new. `topics`: name -> (id of 16 bytes, number of partitions), those that exist. `replaced`: the id of the static member, among the
    subscribers, whose place the last of them takes and whose target that one has. It is left out, and nothing is stored yet of the other.
    `alike`: do they subscribe alike, as Kafka judges it (`consumer.Group.alike`)?
    """
    if not subscribers:
        return {}
    group = group_of(subscribers, topics, replaced, alike)
    computed = ASSIGNORS[assignor](group)
    newcomer = None if replaced is None else subscribers[-1].member_id
    found = {}
    for one in group.members:
        now, old = computed.get(one.member_id, {}), {} if one.member_id == newcomer else one.target
        found[one.member_id] = old if now is old else stored(old, now)
    return found
