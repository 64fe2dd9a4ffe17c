"""A steady producer that writes one record to every partition at a fixed rate, with the value `topic partition offset`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from groupmock import Broker


class Producer:
    """Produces to every topic that was added. `told(topic, partition, first, last)` gets the acknowledged offsets."""

    def __init__(self, broker: Broker, rate: float, told: Callable[[str, int, int, int], None]) -> None:
        self._broker, self._rate, self._told = broker, rate, told
        self.ends: dict[tuple[str, int], int] = {}
        """Maps (topic, partition) to the offset after the last record produced."""
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._produced = threading.Event()
        self._thread = threading.Thread(target=self._run, name="producer", daemon=True)
        if rate > 0:
            self._thread.start()

    def add(self, topic: str, partitions: int) -> None:
        """Add a topic, or more partitions of one."""
        with self._lock:
            for number in range(partitions):
                self.ends.setdefault((topic, number), 0)

    def between_two(self) -> None:
        """Wait until the middle between two rounds of records. Returns at once if nothing is produced."""
        if self._thread.is_alive():
            self._produced.clear()
            self._produced.wait(2 / self._rate)
            time.sleep(0.5 / self._rate)

    def stop(self) -> None:
        """Stop, and return when no more records come. May be called again."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            with self._lock:
                places = list(self.ends)
            for topic, number in places:
                offset = self._broker.produce(topic, f"{topic} {number} {self.ends[topic, number]}".encode(), partition=number)
                self.ends[topic, number] = offset + 1
                self._told(topic, number, offset, offset)
            self._produced.set()
            due = max(due + 1 / self._rate, time.monotonic())
