"""A steady producer on the virtual clock, computed by a formula."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from groupmock_codec.units import NS_PER_S

from ...cooperative.balance import Partition
from ..play import PRODUCER

Tell = Callable[[str, str, Mapping[str, Any]], None]


class Producer:
    """Produces `rate` records per second to every partition from its creation on."""

    def __init__(self, rate: float, now: Callable[[], int], tell: Tell) -> None:
        self._rate, self._now, self.tell = rate, now, tell
        self._born: dict[Partition, int] = {}

    def add(self, topic: str, partitions: Iterable[int]) -> None:
        """Produce to partitions that exist from now on."""
        for number in partitions:
            self._born[topic, number] = self._now()

    def end(self, partition: Partition) -> int:
        """Return the log end offset."""
        return int((self._now() - self._born[partition]) * self._rate / NS_PER_S)

    def report(self) -> None:
        """Append rows about the produced records to the journal."""
        for (topic, number), count in ((each, self.end(each)) for each in self._born):
            if count:
                self.tell(PRODUCER, "produced", {"topic": topic, "partition": number, "first": 0, "last": count - 1})
