"""The stage that is groupmock's pure core on a virtual clock: 300 s pass in microseconds, times are exact, invariants are checked.

Like the driver it dispatches one request at a time per connection; what comes behind a parked request waits, what comes behind
an abandoned one is never read.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

from groupmock.advertise import identity_of
from groupmock.config import Config, resolve
from groupmock.core.core import core_of
from groupmock.core.effects import Abandoned, Close, Effects, Replies, Reply, Silent
from groupmock.core.events import Command, Disconnected, Request
from groupmock.core.identity import Node
from groupmock.core.turn import Turn
from groupmock.core.units import NS_PER_MS
from groupmock_codec import APIS
from groupmock_codec.declare import Message, Versions

from ..language.scope import Value
from .contract import Answer, Closed, NotOnThisStage, Tolerance

EPOCH_MS: Final = 1_700_000_000_000
HOST: Final = "/127.0.0.1"


def core_config(release: str, settings: Mapping[str, str]) -> Config:
    """The profile of a release with the settings of an exchange."""
    return resolve({"profile": f"kafka-{release}"}, list(settings.items()))


@dataclass
class _Waiting:
    key: int
    version: int
    client_id: str | None
    message: Message
    sent_ns: int


@dataclass
class _Connection:
    number: int
    waiting: deque[_Waiting] = field(default_factory=deque)
    flying: int | None = None
    mute: bool = False
    ended: bool = False
    answers: deque[Answer] = field(default_factory=deque)


class CoreStage:
    """One dialogue with a cluster of its own. `seed` draws the member ids."""

    kind = "core"
    tolerance = Tolerance()

    def __init__(self, release: str, settings: Mapping[str, str], seed: int = 1) -> None:
        config = core_config(release, settings)
        self.release = release
        self.settings = settings
        self.topic_ids: dict[str, bytes] = {}
        identity = identity_of(config.profile, "exchange", [Node(1, "127.0.0.1", 9092)])
        self._ranges = {row.key: Versions(row.lowest, row.highest) for row in identity.advertised}
        self.core = core_of(config.settings, identity, Random(seed), EPOCH_MS)
        self._now = 0
        self._connections: dict[str, _Connection] = {}
        self._numbers = 0
        self._tickets: dict[int, tuple[_Connection, _Waiting]] = {}
        self._next_ticket = 0

    def group(self) -> str:
        """Any name: every dialogue has its own cluster."""
        return f"g-{secrets.token_hex(5)}"

    # -- the clock

    def now_ms(self) -> float:
        """Virtual milliseconds."""
        return self._now / NS_PER_MS

    def wall_ms(self) -> int:
        """Milliseconds since 1970 on the cluster's clock."""
        return self.core.environment.wall_ms(self._now)

    def pause(self, ms: float) -> None:
        """Step the clock, firing what is due on the way."""
        self._until(self._now + round(ms * NS_PER_MS), None)

    def _until(self, end: int, connection: _Connection | None) -> None:
        """Step to `end`, or until the connection has an answer or is closed."""
        while connection is None or not (connection.answers or connection.ended):
            deadline = self.core.deadline()
            if deadline is None or deadline > end:
                self._now = max(self._now, end)
                return
            self._now = max(self._now, deadline)
            self._perform(self.core.expire(self._now))

    # -- what is known of the cluster

    def versions(self, key: int) -> Versions | None:
        """The versions the profile offers."""
        return self._ranges.get(key)

    def topic(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> str:
        """Create the topic; every dialogue has its own cluster, so the name is the real one."""
        topics, turn = self.core.cluster.topics, Turn(self.core.environment, self._now, [])
        self.topic_ids[name] = topics.add(turn, name, topics.place(name, partitions, 1), configs or {}).topic_id
        return name

    def command(self, name: str, arguments: dict[str, Value]) -> None:
        """Run one command of the core."""
        self._perform(self.core.handle(Command(name, arguments), self._now))

    # -- connections

    def _connection(self, member: str) -> _Connection:
        if member not in self._connections:
            self._numbers += 1
            self._connections[member] = _Connection(self._numbers)
        return self._connections[member]

    def send(self, member: str, key: int, version: int, client_id: str | None, message: Message) -> None:
        """Queue one request and dispatch it if its connection is free. It goes through bytes, as over a socket."""
        api = APIS[key].request
        arrived = api.decode(version, api.encode(version, message))
        connection = self._connection(member)
        connection.waiting.append(_Waiting(key, version, client_id, arrived, self._now))
        self._dispatch(connection)

    def send_bytes(self, member: str, data: bytes) -> None:
        """The core takes messages, not bytes."""
        raise NotOnThisStage("bytes are sent over TCP only")

    def _dispatch(self, connection: _Connection) -> None:
        while connection.waiting and connection.flying is None and not connection.mute and not connection.ended:
            request = connection.waiting.popleft()
            self._next_ticket += 1
            connection.flying = self._next_ticket
            self._tickets[self._next_ticket] = (connection, request)
            event = Request(
                self._next_ticket, connection.number, 1, request.key, request.version, request.client_id, HOST, request.message
            )  # fmt: skip
            self._perform(self.core.handle(event, self._now))

    def _perform(self, effects: Effects) -> None:
        for effect in effects:
            if isinstance(effect, Reply):
                self._reply(effect)
            elif isinstance(effect, Replies):
                for reply in effect.replies:
                    self._reply(reply)
            elif isinstance(effect, Abandoned | Close | Silent):
                self._without_answer(effect)
        for group in self.core.cluster.groups.all():
            group.invariants()

    def _reply(self, reply: Reply) -> None:
        connection, request = self._tickets.pop(reply.ticket)
        api = APIS[request.key]
        version = request.version if request.version in api.versions else 0
        message = api.response.decode(version, api.response.encode(version, reply.message))
        connection.answers.append(Answer(api.name, version, message, request.sent_ns / NS_PER_MS, self.now_ms()))
        connection.flying = None
        self._dispatch(connection)

    def _without_answer(self, effect: Abandoned | Close | Silent) -> None:
        connection, _ = self._tickets.pop(effect.ticket)
        connection.flying = None
        if isinstance(effect, Abandoned):
            connection.mute = True
        elif isinstance(effect, Close):
            connection.ended = True
        else:
            self._dispatch(connection)

    def answer(self, member: str, limit_ms: float) -> Answer | None:
        """The oldest answer that was not looked at; steps the clock up to `limit_ms` for it."""
        connection = self._connection(member)
        if not connection.answers and not connection.ended:
            self._until(self._now + round(limit_ms * NS_PER_MS), connection)
        if connection.answers:
            return connection.answers.popleft()
        if connection.ended:
            raise Closed
        return None

    def hang_up(self, member: str, how: str) -> None:
        """The peer is gone: answers to it are lost."""
        if how == "finishes":
            raise NotOnThisStage("connections are half-closed over TCP only")
        connection = self._connections.pop(member, None)
        if connection is not None:
            connection.waiting.clear()
            self._perform(self.core.handle(Disconnected(connection.number), self._now))

    def close(self) -> None:
        """Nothing to hang up."""
