"""A member's target assignment while an assignor changes it, in the order of Kafka's hash maps (CG-108).

An assignor of Kafka works on a deep copy, made at the first change: a map sized for the former number of topics, each with a set sized for
the former number of partitions.

In Kafka: AssignorHelpers.deepCopyAssignment.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ....java.hash_maps import INTEGERS, UUIDS, HashKeys
from .spec import Effort, Target

Computed = Mapping[bytes, Collection[int]]
"""A target assignment in the form and order in which an assignor returns it."""


class Draft:
    __slots__ = ("_sets", "_topics")

    def __init__(self, target: Target, effort: Effort) -> None:
        effort.owe(6 + sum([6 + 2 * len(partitions) for partitions in target.values()]))
        self._topics = HashKeys(UUIDS, len(target))
        self._sets: dict[bytes, HashKeys[int]] = {}
        for topic, partitions in target.items():
            self._topics.put(topic)
            self._sets[topic] = HashKeys.copied(INTEGERS, partitions)

    def add(self, topic: bytes, partition: int, capacity: int) -> None:
        """Add a partition to the member's target. `capacity` is that of the topic's set, if the partition is the first of its topic."""
        self._topics.compute(topic)
        if topic not in self._sets:
            self._sets[topic] = HashKeys(INTEGERS, capacity)
        self._sets[topic].put(partition)

    def remove(self, topic: bytes, partition: int) -> None:
        """Remove a partition, and with the topic's last partition the topic."""
        self.take(topic, partition)
        if not self._sets[topic]:
            self.drop(topic)

    def take(self, topic: bytes, partition: int) -> None:
        """Remove a partition but not the topic, which may have no partitions then (share groups; SG-62)."""
        self._sets[topic].remove(partition)

    def drop(self, topic: bytes) -> None:
        self._topics.remove(topic)
        del self._sets[topic]

    def computed(self) -> Computed:
        return {topic: self._sets[topic] for topic in self._topics}
