"""A member's target while an assignor changes it, and what of it is stored: the orders of CG-108.

An assignor of Kafka works on a deep copy, made at the first change: a map for as many topics as there were, each with a set for as many
partitions as there were. What it returns is written to the log in its iteration order, and read back into a new map and new sets.
A target that has the same partitions as before is not written, so the old order stays.
In Kafka: AssignorHelpers.deepCopyAssignment, TargetAssignmentBuilder.build, Assignment.fromRecord.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ....java.hash_maps import INTEGERS, UUIDS, HashKeys, copied_order, filled_order
from ....java.orders import SMALLEST_TABLE
from .spec import Effort, Steps, Target

Computed = Mapping[bytes, Collection[int]]
"""A target as an assignor returns it, in its iteration order."""


class Draft:
    """A member's target while an assignor changes it."""

    __slots__ = ("_sets", "_topics")

    def __init__(self, target: Target, effort: Effort) -> None:
        effort.owe(6 + sum([6 + 2 * len(partitions) for partitions in target.values()]))
        self._topics = HashKeys(UUIDS, len(target))
        self._sets: dict[bytes, HashKeys[int]] = {}
        for topic, partitions in target.items():
            self._topics.put(topic)
            self._sets[topic] = HashKeys.copied(INTEGERS, partitions)

    def add(self, topic: bytes, partition: int, capacity: int) -> None:
        """A partition more; `capacity`: of the set that is made when it is the first of its topic."""
        self._topics.compute(topic)
        if topic not in self._sets:
            self._sets[topic] = HashKeys(INTEGERS, capacity)
        self._sets[topic].put(partition)

    def remove(self, topic: bytes, partition: int) -> None:
        """A partition less, and with the last one the topic."""
        partitions = self._sets[topic]
        partitions.remove(partition)
        if not partitions:
            self.drop(topic)

    def drop(self, topic: bytes) -> None:
        self._topics.remove(topic)
        del self._sets[topic]

    def computed(self) -> Computed:
        return {topic: self._sets[topic] for topic in self._topics}


def stored(old: Target, computed: Computed, effort: Effort) -> Steps[Target]:
    """Return the member's new target: the very same `old` if `computed` has the same partitions."""
    if _same(old, computed):
        return old
    effort.owe(4 * len(computed))
    found: Target = {}
    for topic in filled_order(UUIDS, computed.keys(), SMALLEST_TABLE) if len(computed) > 1 else computed:
        partitions = computed[topic]
        found[topic] = tuple(copied_order(INTEGERS, partitions) if len(partitions) > 1 else partitions)
        if effort.spend(6 + len(partitions) // 2):
            yield
    return found


def _same(old: Target, computed: Computed) -> bool:
    if len(old) != len(computed):
        return False
    for topic, found in computed.items():  # flat: it is asked of every member of a group
        before = old.get(topic)
        if before is None or len(before) != len(found) or set(found) != set(before):
            return False
    return True
