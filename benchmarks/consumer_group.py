"""Raw members of the consumer protocol (KIP-848): N connections join one group and heartbeat until it has settled.

They are written against the wire (ConsumerGroupHeartbeat v1) and without groupmock's codec, as `join` is. As stock clients do, a member
reports its partitions as soon as it receives other ones; otherwise it is silent for the interval that the coordinator gave it.
"""

from __future__ import annotations

import heapq
import random
import selectors
import struct
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT

from .generators import Failed
from .join import SocketLink, compact, find_coordinator, request

VERSION = 1
NULL = b"\0"
REBALANCE_MS = 300_000
MIXED_TOPICS = 10
LOOK_S = 0.1
"""The seconds between two checks whether all members have settled."""
Owned = list[tuple[bytes, list[int]]]
"""A member's partitions as pairs of a topic id and partition numbers."""


def uvarint(value: int) -> bytes:
    text = bytearray()
    while value > 127:
        text.append(value & 127 | 128)
        value >>= 7
    return bytes([*text, value])


def heartbeat(group: str, member: str, epoch: int, topics: Sequence[str] = (), owned: Owned | None = None) -> bytes:
    """Return the body of a ConsumerGroupHeartbeat request. A heartbeat that joins names `topics`. `owned` None leaves the member's
    partitions out."""
    names = uvarint(len(topics) + 1) + b"".join(map(compact, topics)) if topics else NULL
    timeout = REBALANCE_MS if topics else -1
    rack = assignor = regex = instance = NULL
    body = compact(group) + compact(member) + struct.pack(">i", epoch) + instance + rack + struct.pack(">i", timeout)
    return body + names + regex + assignor + _owned(owned) + b"\0"


def _owned(owned: Owned | None) -> bytes:
    if owned is None:
        return NULL
    parts = [topic + uvarint(len(indexes) + 1) + struct.pack(f">{len(indexes)}i", *indexes) + b"\0" for topic, indexes in owned]
    return uvarint(len(owned) + 1) + b"".join(parts)


class Answer:
    """The fields of a heartbeat's response, in which `owned` is None if the response has no assignment. Raises Failed if it carries an
    error."""

    def __init__(self, frame: bytes) -> None:
        self.frame, self.at = frame, 9  # The error code of an answer follows the correlation id, the tags and the throttle time.
        error = self._int(2)
        said = self._text()
        if error:
            raise Failed(f"ConsumerGroupHeartbeat was answered with error {error}: {said}")
        self._text()
        self.epoch, self.interval_ms = self._int(4), self._int(4)
        self.owned = list(self._topics()) if self._int(1) == 1 else None

    def _int(self, size: int) -> int:
        self.at += size
        return int.from_bytes(self.frame[self.at - size : self.at], "big", signed=True)

    def _count(self) -> int:
        value = shift = 0
        while True:
            byte = self.frame[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value - 1

    def _text(self) -> str:
        size = max(0, self._count())
        self.at += size
        return self.frame[self.at - size : self.at].decode()

    def _topics(self) -> Iterator[tuple[bytes, list[int]]]:
        for _ in range(self._count()):
            topic = self.frame[self.at : self.at + 16]
            self.at += 16
            count = self._count()
            yield topic, [self._int(4) for _ in range(count)]
            self.at += 1


@dataclass
class ConsumerMember:
    """A member on its own connection, with its epoch and its partitions."""

    link: SocketLink
    id: str
    epoch: int = 0
    owned: Owned = field(default_factory=list)
    waits: bool = False

    @property
    def partitions(self) -> int:
        return sum(len(indexes) for _, indexes in self.owned)


class ConsumerGroup:
    """A group whose members hold their connections open until `close`. `sent` counts their heartbeats."""

    key = CONSUMER_GROUP_HEARTBEAT

    def __init__(self, endpoint: tuple[str, int], name: str, topic: str, count: int) -> None:
        find_coordinator(endpoint, name)
        self.name, self.topic = name, topic
        self.members = [self._member(SocketLink.to(endpoint)) for _ in range(count)]
        self.sent = 0
        self._due: list[tuple[float, int]] = []

    def settle(self, partitions: int, seconds: float) -> float:
        """Join all members that have not joined at once, and return the seconds until all have settled: all partitions are held and all
        epochs are equal."""
        began = time.monotonic()
        self._due.clear()
        with selectors.DefaultSelector() as selector:
            for number, each in enumerate(self.members):
                selector.register(each.link.sock, selectors.EVENT_READ, number)
                if not each.waits:
                    self._send(number, self._again(each) if each.epoch else self._joining(each))
            while not self.settled(partitions):
                if time.monotonic() > began + seconds:
                    held = sum(each.partitions for each in self.members)
                    raise Failed(f"{len(self.members)} members hold {held} of {partitions} partitions after {seconds:.0f} s")
                look_again = time.monotonic() + LOOK_S
                while time.monotonic() < look_again:
                    self._go_on(selector)
        return time.monotonic() - began

    def settled(self, partitions: int) -> bool:
        """Return whether all members hold their share of the partitions at the same epoch.

        Equal epochs alone prove nothing: a member that joins while no new target is due gets the current target, in which it has no
        partitions.
        """
        held = [each.partitions for each in self.members]
        even = sum(held) == partitions and max(held) - min(held) <= 1
        return even and len({each.epoch for each in self.members}) == 1

    def _go_on(self, selector: selectors.BaseSelector) -> None:
        for key, _ in selector.select(LOOK_S):
            frame = self.members[key.data].link.receive()
            if frame is not None:
                self._heard(key.data, frame)
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            _, number = heapq.heappop(self._due)
            each = self.members[number]
            if not each.waits:
                self._send(number, self._again(each))

    def _member(self, link: SocketLink) -> ConsumerMember:
        return ConsumerMember(link, str(uuid.uuid4()))

    def _joining(self, member: ConsumerMember) -> bytes:
        return heartbeat(self.name, member.id, 0, [self.topic], [])

    def _again(self, member: ConsumerMember) -> bytes:
        """Return the body of a heartbeat that says nothing new."""
        return heartbeat(self.name, member.id, member.epoch)

    def _has(self, member: ConsumerMember) -> bytes:
        """Return the body of a heartbeat that reports the member's partitions."""
        return heartbeat(self.name, member.id, member.epoch, owned=member.owned)

    def _heard(self, number: int, frame: bytes) -> None:
        each = self.members[number]
        each.waits = False
        interval_ms, changed = self._told(each, frame)
        if changed:
            self._send(number, self._has(each))
        else:
            heapq.heappush(self._due, (time.monotonic() + interval_ms / 1000, number))

    def _told(self, member: ConsumerMember, frame: bytes) -> tuple[int, bool]:
        """Apply an answer to a member. Return its heartbeat interval (ms), and whether the member got other partitions. Raises Failed."""
        answer = Answer(frame)
        member.epoch = answer.epoch
        if answer.owned is None or answer.owned == member.owned:
            return answer.interval_ms, False
        member.owned = answer.owned
        return answer.interval_ms, True

    def _send(self, number: int, body: bytes) -> None:
        self.members[number].waits = True
        self.sent += 1
        self.members[number].link.send(self.key, VERSION, body, flexible=True)

    def heartbeats(self) -> list[bytes]:
        """Return one heartbeat per member, which changes nothing in the group, without its length, as kload expects it."""
        return [request(self.key, VERSION, 0, self._again(each), flexible=True) for each in self.members]

    def close(self) -> None:
        """Close the connections; the members stay in the group until their sessions run out."""
        for each in self.members:
            each.link.sock.close()


class MixedGroup(ConsumerGroup):
    """A group in which each member subscribes to its own half of the topics, whose names begin with `topic`."""

    def settled(self, partitions: int) -> bool:
        """Return whether all partitions are held and all epochs are equal. The shares differ, as the subscriptions do."""
        return sum(each.partitions for each in self.members) == partitions and len({each.epoch for each in self.members}) == 1

    def _joining(self, member: ConsumerMember) -> bytes:
        topics = mixed_topics(self.topic)
        return heartbeat(self.name, member.id, 0, random.Random(member.id).sample(topics, len(topics) // 2), [])


def mixed_topics(topic: str) -> list[str]:
    """Return the names of the topics of a `MixedGroup`."""
    return [f"{topic}-{number}" for number in range(MIXED_TOPICS)]


class ShareGroup(ConsumerGroup):
    """A share group (KIP-932), whose heartbeats report no partitions. Its members and answers are otherwise those of a consumer group."""

    key = SHARE_GROUP_HEARTBEAT

    def _joining(self, member: ConsumerMember) -> bytes:
        return self._body(member, b"\x02" + compact(self.topic))

    def _again(self, member: ConsumerMember) -> bytes:
        return self._body(member, NULL)

    _has = _again

    def _body(self, member: ConsumerMember, names: bytes) -> bytes:
        rack = NULL
        return compact(self.name) + compact(member.id) + struct.pack(">i", member.epoch) + rack + names + b"\0"
