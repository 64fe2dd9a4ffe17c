"""Records on the virtual clock: a steady producer as a formula, and what an application was given of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from groupmock.core.units import NS_PER_S

from ...cooperative.balance import Partition
from ..play import PRODUCER

Tell = Callable[[str, str, Mapping[str, Any]], None]


class Feed:
    """Every partition gets `rate` records per second from its first moment on."""

    def __init__(self, rate: float, now: Callable[[], int], tell: Tell) -> None:
        self._rate, self._now, self.tell = rate, now, tell
        self._born: dict[Partition, int] = {}

    def born(self, topic: str, partitions: Iterable[int]) -> None:
        """These exist from now on."""
        for number in partitions:
            self._born[topic, number] = self._now()

    def end(self, partition: Partition) -> int:
        """The log's end: as many records as there are."""
        return int((self._now() - self._born[partition]) * self._rate / NS_PER_S)

    def report(self) -> None:
        """What was produced, for the journal."""
        for (topic, number), count in ((each, self.end(each)) for each in self._born):
            if count:
                self.tell(PRODUCER, "produced", {"topic": topic, "partition": number, "first": 0, "last": count - 1})


class Delivery:
    """One application: what it is being given, from where on, and what it would commit."""

    def __init__(self, name: str, feed: Feed) -> None:
        self._name, self._feed = name, feed
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
        self._feed.tell(self._name, "serves", {"partitions": sorted(map(list, partitions))})

    def flush(self) -> None:
        """Positions move to the end of what is being delivered, and rows tell what was."""
        for partition in sorted(self._serving):
            first, end = self._told[partition], self._feed.end(partition)
            if end > first:
                topic, number = partition
                self._feed.tell(self._name, "delivered", {"topic": topic, "partition": number, "first": first, "last": end - 1})
                self._told[partition] = self.positions[partition] = end

    def offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """What a commit of these would say now."""
        known = [each for each in partitions if each in self.positions]
        return {each: max(self.positions[each], self._feed.end(each) if each in self._serving else 0) for each in known}
