"""The interface between a member program and its stage: events of the consumer, and orders to the member."""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol


class TopicPartition(Protocol):
    """The common interface of the libraries' TopicPartition."""

    topic: str
    partition: int


def pairs(partitions: Iterable[TopicPartition]) -> list[tuple[str, int]]:
    """Return partitions as sorted pairs of topic and number, as journal rows have them."""
    return sorted((each.topic, each.partition) for each in partitions)


def spans(offsets: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last offset of each range without a gap."""
    first = last = None
    for offset in offsets:
        if first is None or last is None:
            first = offset
        elif offset != last + 1:
            yield first, last
            first = offset
        last = offset
    if first is not None and last is not None:
        yield first, last


class Channel:
    """Receives a consumer's events on the member's own thread. This base class ignores them. `ended` asks the program to close the
    consumer."""

    ended = False

    def opened(self, library: str, consumer: Any, assignor: Any) -> None:
        """Report that the consumer runs and has subscribed. `library` is name and version, `assignor` is ours if it has one."""

    def callback(self, event: str, partitions: Iterable[TopicPartition]) -> None:
        """Report a call of the consumer's listener: `assigned`, `revoked` or `lost`."""

    def polled(self, consumer: Any) -> None:
        """Report that a poll returned, whose records follow."""

    def consumed(self, topic: str, partition: int, records: Sequence[tuple[int, bytes | None]]) -> None:
        """Report (offset, value) of the records of one partition that the application received."""

    def error(self, error: Exception) -> None:
        """Report an error that librdkafka returned in place of a record. Applications are to poll on unless the error is fatal."""

    def topics(self) -> list[str] | None:
        """Return the next subscription that the stage has ordered, or None if there is no new order."""
        return None


class Pipes(Channel):
    """The channel of a process: events go to stdout, orders come from stdin, SIGTERM is the end."""

    def __init__(self) -> None:
        self._topics: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
        self._held: list[tuple[str, int]] | None = None
        self._out = threading.Lock()
        signal.signal(signal.SIGTERM, self._end)
        threading.Thread(target=self._read, name="orders", daemon=True).start()

    def say(self, event: str, **facts: object) -> None:
        """Write one event as a line, from any thread."""
        line = json.dumps({"event": event, **facts}) + "\n"
        with self._out:
            sys.stdout.write(line)
            sys.stdout.flush()

    def opened(self, library: str, consumer: Any, assignor: Any) -> None:
        self.say("ready", library=library)

    def callback(self, event: str, partitions: Iterable[TopicPartition]) -> None:
        self.say(event, partitions=pairs(partitions))

    def polled(self, consumer: Any) -> None:
        """Report the library's assignment if it has changed."""
        held = pairs(consumer.assignment())
        if held != self._held:
            self._held = held
            self.say("holds", partitions=held)

    def consumed(self, topic: str, partition: int, records: Sequence[tuple[int, bytes | None]]) -> None:
        for first, last in spans(offset for offset, _ in records):
            self.say("delivered", topic=topic, partition=partition, first=first, last=last)

    def topics(self) -> list[str] | None:
        try:
            return self._topics.get_nowait()
        except queue.Empty:
            return None

    def _read(self) -> None:
        for line in sys.stdin:
            order: dict[str, Any] = json.loads(line)
            self._topics.put(order["subscribe"])
        os._exit(0)

    def _end(self, *_: object) -> None:
        self.ended = True


class Listener:
    """Reports the calls of a consumer's rebalance listener. With an assignor of ours it commits the positions in revoked partitions
    (docs/how-to/cooperative.md)."""

    def __init__(self, channel: Channel, assignor: Any = None) -> None:
        self._channel, self._assignor = channel, assignor

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> Any:
        """Called by the library, which awaits an awaitable result."""
        self._channel.callback("revoked", revoked)
        offsets = self._assignor.positions(revoked) if self._assignor is not None else {}
        return self._assignor.commit(offsets) if offsets else None

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        self._channel.callback("assigned", assigned)

    def on_partitions_lost(self, lost: Iterable[Any]) -> None:
        self._channel.callback("lost", lost)
