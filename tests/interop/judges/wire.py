"""Two requests written by hand, since no client library asks them as the harness must: Heartbeat v0 and DescribeGroups v0."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

SECONDS = 15.0


@dataclass(frozen=True)
class Described:
    """A group as DescribeGroups tells it, of whatever protocol type: consumer, connect, ..."""

    state: str
    protocol: str
    members: tuple[str, ...]
    assignments: tuple[bytes, ...]  # of the members, in their order


@contextlib.contextmanager
def link(bootstrap: str) -> Iterator[socket.socket]:
    """A connection to the first broker of `bootstrap`."""
    host, port = bootstrap.split(",")[0].rsplit(":", 1)
    with socket.create_connection((host, int(port)), SECONDS) as made:
        yield made


def text(value: str) -> bytes:
    """STRING."""
    return struct.pack(">h", len(value.encode())) + value.encode()


def ask(to: socket.socket, key: int, body: bytes) -> bytes:
    """Version 0 of the API; the answer's body."""
    frame = struct.pack(">hhi", key, 0, 1) + text("the matrix") + body
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


def connect_leader(assignment: bytes) -> str:
    """The REST address of the worker that leads, as an assignment of Connect names it after version, error and member id (KIP-415)."""
    given = _Reader(assignment)
    given.number(">h"), given.number(">h"), given.string()
    return given.string()
