"""Raw members of the classic protocol: N connections join one group, and a load generator heartbeats for them.

They are written against the wire (JoinGroup v5, SyncGroup v3, Heartbeat v4) and without groupmock's codec: the measuring code shares
nothing with the product. The leader syncs last, because librdkafka's mock answers a follower that syncs after the leader with
INVALID_REQUEST. A group keeps its members when their connections close, so the ids stay valid after this module has closed them.
"""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from groupmock_codec.api_keys import API_VERSIONS, FIND_COORDINATOR, HEARTBEAT, JOIN_GROUP, SYNC_GROUP
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED

from .generators import Failed

COORDINATOR_LOADING = (14, 15, 16)
SESSION_MS = 300_000
CLIENT = "bench"
METADATA = struct.pack(">hihs", 0, 1, 1, b"t") + struct.pack(">i", 47) + bytes(47)
"""Subscription v0 of the topic "t" with user data: 60 bytes, the size that the memory figures assume for a member."""
ASSIGNMENT = bytes(60)


def string(text: str | None) -> bytes:
    """Encode a nullable STRING of the protocol."""
    if text is None:
        return b"\xff\xff"
    return struct.pack(">h", len(text.encode())) + text.encode()


def data(content: bytes) -> bytes:
    """Encode BYTES of the protocol."""
    return struct.pack(">i", len(content)) + content


def compact(text: str | None) -> bytes:
    """Encode a nullable COMPACT_STRING of at most 126 bytes."""
    return b"\0" if text is None else bytes([len(text.encode()) + 1]) + text.encode()


def request(key: int, version: int, correlation: int, body: bytes, flexible: bool = False) -> bytes:
    """Return a frame without its length: header v1, or v2 for a flexible version."""
    return struct.pack(">hhi", key, version, correlation) + string(CLIENT) + (b"\0" if flexible else b"") + body


def heartbeat(group: str, generation: int, member: str) -> bytes:
    """Return a Heartbeat v4 of a dynamic member, without its length field, as kload expects it."""
    body = compact(group) + struct.pack(">i", generation) + compact(member) + compact(None) + b"\0"
    return request(HEARTBEAT, 4, 0, body, flexible=True)


class ResponseReader:
    """Reads the fields of an encoded response in order."""

    def __init__(self, frame: bytes) -> None:
        self.frame, self.at = frame, 4

    def int16(self) -> int:
        self.at += 2
        return int.from_bytes(self.frame[self.at - 2 : self.at], "big", signed=True)

    def int32(self) -> int:
        self.at += 4
        return int.from_bytes(self.frame[self.at - 4 : self.at], "big", signed=True)

    def string(self) -> str:
        """Read a nullable STRING; null becomes the empty string."""
        size = max(0, self.int16())
        self.at += size
        return self.frame[self.at - size : self.at].decode()

    def skip_bytes(self) -> None:
        size = max(0, self.int32())
        self.at += size


@dataclass
class SocketLink:
    """One connection that sends whole requests and returns whole responses."""

    sock: socket.socket
    pending: bytearray = field(default_factory=bytearray)
    correlation: int = 0

    @classmethod
    def to(cls, endpoint: tuple[str, int]) -> SocketLink:
        """Connect and wait for an ApiVersions response, which proves that the server has accepted the connection."""
        sock = socket.create_connection(endpoint, 30)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = cls(sock)
        link.call(API_VERSIONS, 0, b"")
        return link

    def send(self, key: int, version: int, body: bytes, flexible: bool = False) -> None:
        self.correlation += 1
        frame = request(key, version, self.correlation, body, flexible)
        self.sock.sendall(struct.pack(">i", len(frame)) + frame)

    def receive(self) -> bytes | None:
        """Read once; return a whole response, or None while it is incomplete."""
        chunk = self.sock.recv(1 << 20)
        if not chunk:
            raise Failed("the server closed a member's connection")
        self.pending += chunk
        if len(self.pending) < 4:
            return None
        size = 4 + int.from_bytes(self.pending[:4], "big")
        if len(self.pending) < size:
            return None
        frame = bytes(self.pending[4:size])
        del self.pending[:size]
        return frame

    def call(self, key: int, version: int, body: bytes, flexible: bool = False) -> bytes:
        self.send(key, version, body, flexible)
        frame = self.receive()
        while frame is None:
            frame = self.receive()
        return frame


@dataclass
class JoiningMember:
    """A member on its own connection, with the state of its join."""

    link: SocketLink
    id: str = ""
    generation: int = -1
    members: tuple[str, ...] = ()
    """All members of the generation, which only the leader learns."""


@dataclass
class Group:
    """A joined group: its members hold their connections open until `close`."""

    name: str
    members: list[JoiningMember]

    def heartbeats(self) -> list[bytes]:
        return [heartbeat(self.name, each.generation, each.id) for each in self.members]

    def close(self) -> None:
        """Close the connections; the members stay in the group until their sessions run out."""
        for each in self.members:
            each.link.sock.close()


def _await(members: Iterable[JoiningMember], handle: Callable[[JoiningMember, ResponseReader], bool], seconds: float) -> None:
    """Pass every response to `handle` until it has returned True once for each member."""
    with selectors.DefaultSelector() as selector:
        for each in members:
            selector.register(each.link.sock, selectors.EVENT_READ, each)
        end = time.monotonic() + seconds
        while selector.get_map():
            ready = selector.select(max(0.0, end - time.monotonic()))
            if not ready:
                raise Failed(f"{len(selector.get_map())} members were not answered within {seconds:.0f} s")
            for key, _ in ready:
                frame = key.data.link.receive()
                if frame is not None and handle(key.data, ResponseReader(frame)):
                    selector.unregister(key.fileobj)


def join_request(group: str, member_id: str) -> bytes:
    """Return the body of a JoinGroup v5 of a dynamic member."""
    times = struct.pack(">ii", SESSION_MS, SESSION_MS)
    protocols = struct.pack(">i", 1) + string("range") + data(METADATA)
    return string(group) + times + string(member_id) + string(None) + string("consumer") + protocols


def _send_join(group: str, member: JoiningMember) -> None:
    member.link.send(JOIN_GROUP, 5, join_request(group, member.id))


def _send_sync(group: str, member: JoiningMember) -> None:
    body = string(group) + struct.pack(">i", member.generation) + string(member.id) + string(None)
    body += struct.pack(">i", len(member.members)) + b"".join(string(each) + data(ASSIGNMENT) for each in member.members)
    member.link.send(SYNC_GROUP, 3, body)


def _joined(group: str, member: JoiningMember, reader: ResponseReader) -> bool:
    """Read a JoinGroup v5 response and return whether the member has joined. Joins again if the server asks for a member id."""
    reader.int32()
    error, generation = reader.int16(), reader.int32()
    reader.string()
    reader.string()
    member_id = reader.string()
    if error == MEMBER_ID_REQUIRED:
        member.id = member_id
        _send_join(group, member)
        return False
    if error:
        raise Failed(f"JoinGroup was answered with error {error}")
    member.id, member.generation, members = member_id, generation, []
    for _ in range(reader.int32()):
        members.append(reader.string())
        reader.string()
        reader.skip_bytes()
    member.members = tuple(members)
    return True


def _synced(_member: JoiningMember, reader: ResponseReader) -> bool:
    reader.int32()
    error = reader.int16()
    if error:
        raise Failed(f"SyncGroup was answered with error {error}")
    return True


def find_coordinator(endpoint: tuple[str, int], group: str) -> None:
    """Wait until the group has a coordinator: a fresh Kafka creates its offsets topic first."""
    link, end = SocketLink.to(endpoint), time.monotonic() + 30
    reader = ResponseReader(link.call(FIND_COORDINATOR, 1, string(group) + b"\0"))
    reader.int32()
    while (error := reader.int16()) in COORDINATOR_LOADING and time.monotonic() < end:
        time.sleep(0.05)
        reader = ResponseReader(link.call(FIND_COORDINATOR, 1, string(group) + b"\0"))
        reader.int32()
    link.sock.close()
    if error:
        raise Failed(f"FindCoordinator was answered with error {error}")


def join(endpoint: tuple[str, int], group: str, count: int, seconds: float = 60.0) -> Group:
    """Join `count` members to one group in one generation. Returns when each of them holds its assignment."""
    find_coordinator(endpoint, group)
    members = [JoiningMember(SocketLink.to(endpoint)) for _ in range(count)]
    for each in members:
        _send_join(group, each)
    _await(members, lambda member, reader: _joined(group, member, reader), seconds)
    if len({each.generation for each in members}) > 1:
        raise Failed("the members did not meet in one generation: the server's initial rebalance delay is too short")
    leader = next(each for each in members if each.members)
    followers = [each for each in members if each is not leader]
    for each in followers:
        _send_sync(group, each)
    # A server that has answered two requests has read everything sent before. The module's docstring says why the leader must be last.
    for _ in range(2):
        SocketLink.to(endpoint).sock.close()
    _send_sync(group, leader)
    _await(members, _synced, seconds)
    return Group(group, members)


class Joined(Protocol):
    """Members for which a load generator can heartbeat."""

    def heartbeats(self) -> list[bytes]:
        """Return one heartbeat per member, without its length."""

    def close(self) -> None: ...


def write_payloads(groups: Iterable[Joined], target: Path) -> Path:
    """Write every member's heartbeat as a line of hex, for `kload -f`."""
    target.write_text("".join(frame.hex() + "\n" for group in groups for frame in group.heartbeats()))
    return target
