"""A member's target while an assignor changes it, and the part of it that is stored: the orders of CG-108.

An assignor of Kafka works on a deep copy, made at the first change: a map sized for the former number of topics, each with a set sized for
the former number of partitions. Its result is written to the log in its iteration order, and read back into a new map and new sets. A
target with the same partitions as before is not written, so the old order stays.

In Kafka: AssignorHelpers.deepCopyAssignment, TargetAssignmentBuilder.build, Assignment.fromRecord.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ....java.hash_maps import INTEGERS, UUIDS, HashKeys, copied_order, filled_order
from ....java.orders import SMALLEST_TABLE
from .spec import Effort, Steps, Target

Computed = Mapping[bytes, Collection[int]]
"""A target in the form and order in which an assignor returns it."""


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
        """Add a partition to the target. `capacity` is that of the topic's set, if the partition is the first of its topic."""
        self._topics.compute(topic)
        if topic not in self._sets:
            self._sets[topic] = HashKeys(INTEGERS, capacity)
        self._sets[topic].put(partition)

    def remove(self, topic: bytes, partition: int) -> None:
        """Remove a partition, and with the last one the topic."""
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
    for topic, found in computed.items():  # flat code, because this runs for every member of a group
        before = old.get(topic)
        if before is None or len(before) != len(found) or set(found) != set(before):
            return False
    return True
