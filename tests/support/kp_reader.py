"""A stock kafka-python consumer that a thread of its own polls, long and without pauses: 3.0.12 forgets a join that changed metadata
started if a poll ends meanwhile, and neither heartbeats nor joins ever again (docs/how-to/cooperative.md)."""

from __future__ import annotations

import threading
from typing import Any, Final

POLL_MS: Final = 1000


class Reader:
    """Runs until `close`, which leaves the group. What it raises ends its thread, and the test."""

    def __init__(self, topic: str, **options: Any) -> None:
        from kafka import KafkaConsumer

        self._consumer = KafkaConsumer(topic, **options)
        self.delivered: list[tuple[int, int]] = []
        """(partition, offset), in order."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read, name=f"reader of {topic}", daemon=True)
        self._thread.start()

    @property
    def held(self) -> int:
        """How many partitions it has."""
        return len(self._consumer.assignment())

    def close(self) -> None:
        """Returns when it is closed."""
        self._ended.set()
        self._thread.join()

    def _read(self) -> None:
        try:
            while not self._ended.is_set():
                for records in self._consumer.poll(timeout_ms=POLL_MS).values():
                    self.delivered += [(record.partition, record.offset) for record in records]
        finally:
            self._consumer.close()
