"""Requests written by hand, since no client library asks them as the harness must: Heartbeat v0, DescribeGroups v0,
ConsumerGroupDescribe v1 and StreamsGroupDescribe v0."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

SECONDS = 15.0
GROUP_ID_NOT_FOUND = 69
KINDS = {0: "classic", 1: "consumer"}


@dataclass(frozen=True)
class Described:
    """A group as DescribeGroups tells it, of whatever protocol type (consumer, connect, ...), or ConsumerGroupDescribe: then `protocol` is
    its assignor, `epoch` the group's, `kinds` the protocols of its members, sorted (KIP-1099), `statics` group.instance.id and epoch of
    the static members of a streams group, sorted."""

    state: str
    protocol: str
    members: tuple[str, ...]
    assignments: tuple[bytes, ...] = ()  # of the members, in their order
    epoch: int = -1
    kinds: tuple[str, ...] = ()
    statics: tuple[tuple[str, int], ...] = ()


@contextlib.contextmanager
def link(bootstrap: str) -> Iterator[socket.socket]:
    """A connection to the first broker of `bootstrap`."""
    host, port = bootstrap.split(",")[0].rsplit(":", 1)
    with socket.create_connection((host, int(port)), SECONDS) as made:
        yield made


def text(value: str) -> bytes:
    """STRING."""
    return struct.pack(">h", len(value.encode())) + value.encode()


def ask(to: socket.socket, key: int, body: bytes, version: int = 0) -> bytes:
    """What follows the correlation id of the answer. A body of a flexible version begins with the tags of its header."""
    frame = struct.pack(">hhi", key, version, 1) + text("the matrix") + body
    to.sendall(struct.pack(">i", len(frame)) + frame)
    return _exactly(to, struct.unpack(">i", _exactly(to, 4))[0])[4:]


def _exactly(of: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = of.recv(count - len(data))
        if not more:
            raise ConnectionError("the broker hung up")
        data += more
    return data


def heartbeat(to: socket.socket, group: str, generation: int, member: str) -> int:
    """The error code of a heartbeat."""
    return int(struct.unpack(">h", ask(to, 12, text(group) + struct.pack(">i", generation) + text(member)))[0])


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self, form: str) -> int:
        value = struct.unpack_from(form, self._data, self._at)[0]
        self._at += struct.calcsize(form)
        return int(value)

    def take(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size:self._at]

    def string(self) -> str:
        return self.take(self.number(">h")).decode()

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.number(">B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def compact(self) -> str:
        """COMPACT_STRING; null reads as empty."""
        return self.take(max(0, self.varint() - 1)).decode()

    def items(self) -> range:
        """Of a COMPACT_ARRAY."""
        return range(max(0, self.varint() - 1))

    def tags(self) -> None:
        for _ in range(self.varint()):
            self.varint()
            self.take(self.varint())


def describe(to: socket.socket, group: str) -> Described:
    """The group; state Dead if there is none. Raises RuntimeError for an error code."""
    answer = _Reader(ask(to, 15, struct.pack(">i", 1) + text(group)))
    answer.number(">i")
    if code := answer.number(">h"):
        raise RuntimeError(f"DescribeGroups {group}: error {code}")
    answer.string()
    state, _, protocol = answer.string(), answer.string(), answer.string()
    members, assignments = [], []
    for _member in range(answer.number(">i")):
        members.append(answer.string())
        answer.string(), answer.string()
        answer.take(answer.number(">i"))
        assignments.append(answer.take(answer.number(">i")))
    return Described(state, protocol, tuple(members), tuple(assignments))


def describe_consumers(to: socket.socket, group: str) -> Described | None:
    """The group of the consumer protocol (KIP-848); None if there is none. Raises RuntimeError for another error code."""
    name = group.encode()
    answer = _Reader(ask(to, 69, b"\0\x02" + bytes([len(name) + 1]) + name + b"\0\0", version=1))
    answer.tags()
    answer.number(">i"), answer.items()
    code = answer.number(">h")
    answer.compact(), answer.compact()
    if code == GROUP_ID_NOT_FOUND:
        return None
    if code:
        raise RuntimeError(f"ConsumerGroupDescribe {group}: error {code}")
    state, epoch, _, assignor = answer.compact(), answer.number(">i"), answer.number(">i"), answer.compact()
    found = [_consumer(answer) for _ in answer.items()]
    return Described(state, assignor, tuple(member for member, _ in found), (), epoch, tuple(sorted(kind for _, kind in found)))


def describe_streams(to: socket.socket, group: str) -> Described:
    """The group of the streams protocol (KIP-1071). Raises RuntimeError for an error code."""
    name = group.encode()
    answer = _Reader(ask(to, 89, b"\0\x02" + bytes([len(name) + 1]) + name + b"\0\0"))
    answer.tags()
    answer.number(">i"), answer.items()
    if code := answer.number(">h"):
        raise RuntimeError(f"StreamsGroupDescribe {group}: error {code}")
    answer.compact(), answer.compact()
    state, epoch, _ = answer.compact(), answer.number(">i"), answer.number(">i")
    if answer.number(">b") > 0:
        _skip_topology(answer)
    members = [_streams_member(answer) for _ in answer.items()]
    statics = tuple(sorted((instance, member_epoch) for _, instance, member_epoch in members if instance))
    return Described(state, "streams", tuple(member for member, _, _ in members), (), epoch, statics=statics)


def _skip_topology(answer: _Reader) -> None:
    answer.number(">i")
    for _subtopology in answer.items():
        answer.compact()
        for _names in ("sources", "repartition sinks"):
            for _ in answer.items():
                answer.compact()
        for _topics in ("changelogs", "repartition sources"):
            for _topic in answer.items():
                answer.compact(), answer.number(">i"), answer.number(">h")
                _skip_pairs(answer)
                answer.tags()
        answer.tags()
    answer.tags()


def _skip_pairs(answer: _Reader) -> None:
    for _ in answer.items():
        answer.compact(), answer.compact()
        answer.tags()


def _streams_member(answer: _Reader) -> tuple[str, str, int]:
    """Id, group.instance.id (empty without one) and epoch of the member that is told next."""
    member, epoch, instance = answer.compact(), answer.number(">i"), answer.compact()
    answer.compact(), answer.compact(), answer.compact(), answer.number(">i"), answer.compact()
    if answer.number(">b") > 0:
        answer.compact(), answer.number(">H")
        answer.tags()
    _skip_pairs(answer)
    for _offsets in ("offsets", "end offsets"):
        for _ in answer.items():
            answer.compact(), answer.number(">i"), answer.number(">q")
            answer.tags()
    for _assignment in ("assignment", "target"):
        for _role in ("active", "standby", "warm-up"):
            for _subtopology in answer.items():
                answer.compact()
                for _ in answer.items():
                    answer.number(">i")
                answer.tags()
        answer.tags()
    answer.number(">b")
    answer.tags()
    return member, instance, epoch


def _consumer(answer: _Reader) -> tuple[str, str]:
    """Id and protocol of the member that is told next."""
    member = answer.compact()
    answer.compact(), answer.compact(), answer.number(">i"), answer.compact(), answer.compact()
    for _ in answer.items():
        answer.compact()
    answer.compact()
    for _ in ("assignment", "target"):
        for _topic in answer.items():
            answer.take(16), answer.compact()
            for _partition in answer.items():
                answer.number(">i")
            answer.tags()
        answer.tags()
    kind = answer.number(">b")
    answer.tags()
    return member, KINDS.get(kind, "unknown")


def connect_leader(assignment: bytes) -> str:
    """The REST address of the worker that leads, as an assignment of Connect names it after version, error and member id (KIP-415)."""
    given = _Reader(assignment)
    given.number(">h"), given.number(">h"), given.string()
    return given.string()
