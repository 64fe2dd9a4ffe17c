"""Whatever is asked in whatever version, the core answers with something that this version can carry, and nothing breaks.

Case: `profile`, `seed` (the core's dice), `steps`: ["ask", node, connection, key, version, request in base64], ["gone", connection] and
["wait", ms].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from found import Case, Property, unpacked

from groupmock import profiles
from groupmock.advertise import identity_of
from groupmock.config import resolve
from groupmock.core.core import core_of
from groupmock.core.effects import Abandoned, Effects, Replies, Reply
from groupmock.core.events import Command, Disconnected, Request
from groupmock.core.identity import ApiRange, Node
from groupmock.core.units import NS_PER_MS
from groupmock_codec import APIS
from groupmock_codec.declare import Message

TOPICS = ("orders", "audit")
PARTITIONS = 3
SETTINGS = ["group.initial.rebalance.delay.ms=50", "group.min.session.timeout.ms=10"]


class Asking:
    """A cluster of three nodes that is asked, and the checks on every answer. `heard` gets each message."""

    def __init__(self, profile_name: str, seed: int, heard: Callable[[Message], None] = lambda message: None) -> None:
        profile = profiles.load(profile_name)
        nodes = tuple(Node(number, "127.0.0.1", 9000 + number) for number in (1, 2, 3))
        identity = identity_of(profile, "AAAAAAAAAAAAAAAAAAAAAA", nodes)
        self.rows: list[ApiRange] = list(identity.advertised)
        self.core = core_of(resolve({"profile": profile_name}, SETTINGS).settings, identity, Random(seed), 1_700_000_000_000)
        self.heard = heard
        self.now = 0
        self.ticket = 0
        self.asked: dict[int, Request] = {}
        for name in TOPICS:
            self._perform(self.core.handle(Command("create_topic", {"name": name, "partitions": PARTITIONS}), 0))

    def take(self, step: Sequence[Any]) -> None:
        """One step of a case."""
        what, *values = step
        doing: dict[str, Callable[..., None]] = {"ask": self._ask, "gone": self._gone, "wait": self._wait}
        doing[what](*values)

    def _ask(self, node: int, connection: int, key: int, version: int, data: str) -> None:
        message = APIS[key].request.decode(version, unpacked(data))
        self.ticket += 1
        request = Request(self.ticket, connection, node, key, version, "c", "/127.0.0.1", message)
        self.asked[self.ticket] = request
        self._perform(self.core.handle(request, self.now))

    def _gone(self, connection: int) -> None:
        self._perform(self.core.handle(Disconnected(connection), self.now))

    def _wait(self, ms: int) -> None:
        self.now += ms * NS_PER_MS
        self._perform(self.core.expire(self.now))

    def _perform(self, effects: Effects) -> None:
        for reply in _replies(effects):
            request = self.asked.pop(reply.ticket, None)
            assert request is not None, "answered twice, or never asked"
            APIS[request.key].response.encode(request.version, reply.message)
            self.heard(reply.message)
        for effect in effects:
            if isinstance(effect, Abandoned):
                del self.asked[effect.ticket]
        for group in self.core.cluster.groups.all():
            group.invariants()


def _replies(effects: Effects) -> Iterator[Reply]:
    for effect in effects:
        if isinstance(effect, Reply):
            yield effect
        elif isinstance(effect, Replies):
            yield from effect.replies


def _holds(case: Case) -> None:
    asking = Asking(case["profile"], case["seed"])
    for step in case["steps"]:
        asking.take(step)


ANSWERS = Property("answers", _holds)
