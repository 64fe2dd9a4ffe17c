"""A minimal core for tests of the driver, and a function that makes request frames."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from groupmock.core.cluster import cluster_on
from groupmock.core.core import Core
from groupmock.core.effects import Abandoned, Close, Effects, Lease, Replies, Reply
from groupmock.core.environment import Environment
from groupmock.core.events import Command, Disconnected, Event, Request
from groupmock.core.identity import Identity, Node
from groupmock.core.settings import Settings
from groupmock.core.timers import Beats
from groupmock.rig.versions import every_version
from groupmock.rig.wire import request
from groupmock_codec import APIS

IDENTITY = Identity(
    "stub",
    (Node(1, "127.0.0.1", 0),),
    every_version((3, 10, 11, 12, 14, 18)),
)


@dataclass
class StubGroup:
    epoch: int = 0


class StubCore(Core):
    """A core that answers every request with an empty response. JoinGroup waits for the command "release"; heartbeats come with a lease."""

    def __init__(self) -> None:
        super().__init__(cluster_on(Environment(Settings(), IDENTITY, Random(1), 0)))
        self.group = StubGroup()
        self.parked: list[int] = []
        self.seen: list[Event] = []
        self.beats: list[Beats] = []
        self.due: int | None = None
        self.fired: list[int] = []
        self.on_expire: Effects = []

    def handle(self, event: Event, now: int) -> Effects:
        self.seen.append(event)
        if isinstance(event, Disconnected):
            return []
        if isinstance(event, Command):
            return self._command(event)
        if event.key == 11:
            self.parked.append(event.ticket)
            return []
        if event.key == 14:
            raise RuntimeError("the stub knows no SyncGroup")
        lease = Lease(self.group, None, self.group.epoch) if event.key == 12 else None  # type: ignore[arg-type]  # a stub's group
        return [Reply(event.ticket, APIS[event.key].response.message(), lease)]

    def _command(self, event: Command) -> Effects:
        parked, self.parked = self.parked, []
        made: Any = APIS[11].response.message
        if event.name == "release":
            return [Replies(Reply(ticket, made(generation_id=place)) for place, ticket in enumerate(parked))]
        if event.name == "abandon":
            return [Abandoned(ticket, "told to") for ticket in parked]
        if event.name == "close":
            return [Close(ticket, "told to") for ticket in parked]
        raise KeyError(event.name)

    def expire(self, now: int) -> Effects | None:
        if self.due is None:
            return None
        self.fired.append(now)
        self.due = None
        return self.on_expire

    def deadline(self) -> int | None:
        return self.due

    def renew(self, lease: Lease) -> Beats:
        self.beats.append(Beats(0))
        return self.beats[-1]

    @property
    def renewed(self) -> bool:
        """True if the driver has repeated an answer."""
        return any(beats.last for beats in self.beats)

    @property
    def requests(self) -> list[Request]:
        return [event for event in self.seen if isinstance(event, Request)]


def frame(key: int, version: int, correlation: int = 1, client_id: str | None = "peer", **fields: Any) -> bytes:
    return request(key, version, APIS[key].request.message(**fields), correlation, client_id)
