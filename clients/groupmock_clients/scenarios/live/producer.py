"""A steady producer: one record to every partition, so many times a second; a record says where it is: `topic partition offset`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from groupmock import Broker


class Producer:
    """Produces to every topic that was added, from then on. `told(topic, partition, first, last)`: what was acknowledged."""

    def __init__(self, broker: Broker, rate: float, told: Callable[[str, int, int, int], None]) -> None:
        self._broker, self._rate, self._told = broker, rate, told
        self.ends: dict[tuple[str, int], int] = {}
        """(topic, partition) -> the offset after the last record."""
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._produced = threading.Event()
        self._thread = threading.Thread(target=self._run, name="producer", daemon=True)
        if rate > 0:
            self._thread.start()

    def add(self, topic: str, partitions: int) -> None:
        """A new topic, or more partitions of it."""
        with self._lock:
            for number in range(partitions):
                self.ends.setdefault((topic, number), 0)

    def between_two(self) -> None:
        """Returns in the middle between two rounds of records; at once if there are none."""
        if self._thread.is_alive():
            self._produced.clear()
            self._produced.wait(2 / self._rate)
            time.sleep(0.5 / self._rate)

    def stop(self) -> None:
        """Returns when nothing more comes. Harmless when it has stopped."""
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
