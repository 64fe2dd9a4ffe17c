"""The input of an assignor: members in the order of Kafka's own map, with the ids of their topics and their former targets.

Members are put into a hash map in the order of the coordinator's table, and the member whose heartbeat computes the target comes last
(CG-108). The names of a member are a hash set; assignors see ids one by one in the iteration order of that set. Assignors do not see names
that do not exist, but the set's size counts them. In Kafka: TargetAssignmentBuilder, GroupSpecImpl, TopicIds and UnionSet,
ConsumerGroup.subscriptionType.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from typing import Final, TypeVar

import msgspec

from ....java.hash_maps import STRINGS, Kind, copied_order

T = TypeVar("T")
Target = dict[bytes, tuple[int, ...]]
"""The target assignment of one member: topic id (16 bytes) -> partitions, both in the iteration order of the map and sets that Kafka
stores."""
Steps = Generator[None, None, T]
"""A generator that computes a result in small steps: it yields after each step and returns the result."""
A_STEP: Final = 1000
"""A step of a computation ends after this number of units of work, which take about half a millisecond."""


class NoTarget(Exception):
    """Kafka's assignor throws, because an old target has partitions that their topic lacks, as only the leader of a classic group assigns
    them (`Group.untrue`)."""


class Effort:
    """Counts the work of a computation since its last step, so that the steps are small but do not depend on a clock."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = A_STEP

    def spend(self, cost: int) -> bool:
        """Count work, and return True if the step should end. A cost of 1 is one name, one partition or one turn of an inner loop: half
        a microsecond."""
        self._left -= cost
        if self._left > 0:
            return False
        self._left = A_STEP
        return True

    def owe(self, cost: int) -> None:
        """Count work that was done at a point where no step can end."""
        self._left -= cost


class Subscription(msgspec.Struct, gc=False):
    """The existing topics of a member's subscription, in the order of the member's set of topics. `size` also counts names that do not
    exist. Members that subscribe alike should share one object."""

    ids: tuple[bytes, ...]
    size: int


class Member(msgspec.Struct, gc=False):
    """A member in the form in which assignors see it. `target` is the old one. `spread` is that of its id in Java's maps, or None if it
    was not computed yet."""

    member_id: str
    group_instance_id: str | None
    subscription: Subscription
    target: Target
    spread: int | None = None


class Group(msgspec.Struct):
    """The members of a group in the order of Kafka's map, as the input of an assignor. `homogeneous` is True if Kafka considers all
    subscriptions alike. `partitions` gives the number of partitions by topic id."""

    members: list[Member]
    homogeneous: bool
    partitions: dict[bytes, int]


class Spreads(dict[str, int]):
    """The hash that each topic name has in Java's maps, computed at the first access."""

    def __missing__(self, name: str) -> int:
        spread = self[name] = STRINGS.spread(name)
        return spread


def subscription_of(
    names: Sequence[str], matched: Sequence[str], topics: Mapping[str, tuple[bytes, int]], spreads: Spreads
) -> Subscription:
    """Return the subscription of a member in the form in which assignors see it.

    `names`: those that it sent, in the order in which they were put into its set: sorted, as the log has them, but in the request's order
    for the member whose heartbeat brings them. `matched`: the names that its regular expression resolved to, sorted. `topics`: name ->
    (id, partitions)."""
    if len(names) < 2 and not matched:
        return Subscription(tuple([topics[name][0] for name in names if name in topics]), len(names))
    kind = Kind(spreads.__getitem__, STRINGS.rank)
    given, found = copied_order(kind, names), copied_order(kind, matched) if matched else []
    large, small = (given, found) if len(given) > len(found) else (found, given)
    # The topics of the larger set come first, because Java adds the smaller set to the larger one.
    ordered = list(dict.fromkeys(large + small)) if small else large
    return Subscription(tuple([topics[name][0] for name in ordered if name in topics]), len(ordered))


def subscribers_of(members: Sequence[Member], effort: Effort) -> Steps[dict[bytes, list[int]]]:
    """Return for each topic id the indexes of the topic's subscribers, in member order. The code is flat, because a group may have a
    million subscriptions."""
    found: defaultdict[bytes, list[int]] = defaultdict(list)
    for number, member in enumerate(members):
        ids = member.subscription.ids
        for topic in ids:
            found[topic].append(number)
        if effort.spend(1 + len(ids) // 2):
            yield
    return found
