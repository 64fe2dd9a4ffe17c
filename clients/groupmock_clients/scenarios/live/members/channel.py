"""What every member program shares: how it tells what happens to its consumer, and hears what it is to do."""

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
    """A library's TopicPartition."""

    topic: str
    partition: int


def pairs(partitions: Iterable[TopicPartition]) -> list[tuple[str, int]]:
    """As rows have them, in order."""
    return sorted((each.topic, each.partition) for each in partitions)


def spans(offsets: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last of each range without a gap."""
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
    """What a member program tells of its consumer, on the member's own thread; this one tells nobody. `ended`: the consumer is to close."""

    ended = False

    def opened(self, library: str, consumer: Any, assignor: Any) -> None:
        """The consumer runs and has subscribed; `library`: name and version; `assignor`: ours, if it has one."""

    def callback(self, event: str, partitions: Iterable[TopicPartition]) -> None:
        """Its listener was told: `assigned`, `revoked` or `lost`."""

    def polled(self, consumer: Any) -> None:
        """A poll returned; what it brought is told next."""

    def consumed(self, topic: str, partition: int, records: Sequence[tuple[int, bytes | None]]) -> None:
        """(offset, value) of records of one partition, as the application got them."""

    def error(self, error: Exception) -> None:
        """librdkafka handed over an error in place of a record. It asks applications to poll on unless the error is fatal."""

    def topics(self) -> list[str] | None:
        """The next subscription that was ordered, or None."""
        return None


class Pipes(Channel):
    """A process: events go to stdout, orders come from stdin, SIGTERM is the end."""

    def __init__(self) -> None:
        self._topics: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
        self._held: list[tuple[str, int]] | None = None
        self._out = threading.Lock()
        signal.signal(signal.SIGTERM, self._end)
        threading.Thread(target=self._read, name="orders", daemon=True).start()

    def say(self, event: str, **facts: object) -> None:
        """One event, one line, from any thread."""
        line = json.dumps({"event": event, **facts}) + "\n"
        with self._out:
            sys.stdout.write(line)
            sys.stdout.flush()

    def opened(self, library: str, consumer: Any, assignor: Any) -> None:
        """See Channel."""
        self.say("ready", library=library)

    def callback(self, event: str, partitions: Iterable[TopicPartition]) -> None:
        """See Channel."""
        self.say(event, partitions=pairs(partitions))

    def polled(self, consumer: Any) -> None:
        """What the library says the member holds is told when it changed."""
        held = pairs(consumer.assignment())
        if held != self._held:
            self._held = held
            self.say("holds", partitions=held)

    def consumed(self, topic: str, partition: int, records: Sequence[tuple[int, bytes | None]]) -> None:
        """See Channel."""
        for first, last in spans(offset for offset, _ in records):
            self.say("delivered", topic=topic, partition=partition, first=first, last=last)

    def topics(self) -> list[str] | None:
        """See Channel."""
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
    """Tells what it hears; with an assignor of ours, what was revoked is committed where the member was (docs/how-to/cooperative.md)."""

    def __init__(self, channel: Channel, assignor: Any = None) -> None:
        self._channel, self._assignor = channel, assignor

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> Any:
        """The library's; awaited where it is awaitable."""
        self._channel.callback("revoked", revoked)
        offsets = self._assignor.positions(revoked) if self._assignor is not None else {}
        return self._assignor.commit(offsets) if offsets else None

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        """The library's."""
        self._channel.callback("assigned", assigned)

    def on_partitions_lost(self, lost: Iterable[Any]) -> None:
        """The library's, where it has one."""
        self._channel.callback("lost", lost)
