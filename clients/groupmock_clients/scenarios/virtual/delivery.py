"""What an application on the virtual clock is given of the records that are produced."""

from __future__ import annotations

from collections.abc import Iterable

from ...cooperative.balance import Partition
from .producer import Producer


class Delivery:
    """One application: what it is being given, from where on, and what it would commit."""

    def __init__(self, name: str, producer: Producer) -> None:
        self._name, self._producer = name, producer
        self._serving: frozenset[Partition] = frozenset()
        self._told: dict[Partition, int] = {}  # first offset that no row tells of yet
        self.positions: dict[Partition, int] = {}

    def serve(self, partitions: frozenset[Partition]) -> None:
        """From now on these are delivered, each from its position on, and nothing else is."""
        if partitions == self._serving:
            return
        self.flush()
        self._serving = partitions
        self._told = {each: self.positions.setdefault(each, 0) for each in partitions}
        self._producer.tell(self._name, "serves", {"partitions": sorted(map(list, partitions))})

    def flush(self) -> None:
        """Positions move to the end of what is being delivered, and rows tell what was."""
        for partition in sorted(self._serving):
            first, end = self._told[partition], self._producer.end(partition)
            if end > first:
                topic, number = partition
                self._producer.tell(self._name, "delivered", {"topic": topic, "partition": number, "first": first, "last": end - 1})
                self._told[partition] = self.positions[partition] = end

    def offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """What a commit of these would say now."""
        known = [each for each in partitions if each in self.positions]
        return {each: max(self.positions[each], self._producer.end(each) if each in self._serving else 0) for each in known}
