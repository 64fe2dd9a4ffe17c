"""The delivery of records to an application on the virtual clock."""

from __future__ import annotations

from collections.abc import Iterable

from ...cooperative.balance import Partition
from .producer import Producer


class Delivery:
    """The delivery to one application: served partitions, and the positions to commit."""

    def __init__(self, name: str, producer: Producer) -> None:
        self._name, self._producer = name, producer
        self._serving: frozenset[Partition] = frozenset()
        self._told: dict[Partition, int] = {}  # Maps a partition to the first offset that no `delivered` row has reported.
        self.positions: dict[Partition, int] = {}

    def serve(self, partitions: frozenset[Partition]) -> None:
        """Deliver exactly these partitions from now on, each from its position."""
        if partitions == self._serving:
            return
        self.flush()
        self._serving = partitions
        self._told = {each: self.positions.setdefault(each, 0) for each in partitions}
        self._producer.tell(self._name, "serves", {"partitions": sorted(map(list, partitions))})

    def flush(self) -> None:
        """Move positions to the end of the served partitions, and report what was delivered."""
        for partition in sorted(self._serving):
            first, end = self._told[partition], self._producer.end(partition)
            if end > first:
                topic, number = partition
                self._producer.tell(self._name, "delivered", {"topic": topic, "partition": number, "first": first, "last": end - 1})
                self._told[partition] = self.positions[partition] = end

    def end(self, partition: Partition) -> int:
        """Return the log end offset of a partition."""
        return self._producer.end(partition)

    def offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Return the offsets that a commit of these partitions would have now."""
        known = [each for each in partitions if each in self.positions]
        return {each: max(self.positions[each], self._producer.end(each) if each in self._serving else 0) for each in known}
