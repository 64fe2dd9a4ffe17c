"""The stage on groupmock's pure core with a virtual clock: 300 s pass in microseconds, times are exact, invariants are checked.

The rig (groupmock.rig.CoreRig) dispatches as the driver does: one request at a time per connection.
"""

from __future__ import annotations

import secrets
from collections import defaultdict, deque
from collections.abc import Mapping

from groupmock.config.resolve import Config, resolve
from groupmock.core.core import Core
from groupmock.core.events import ANONYMOUS
from groupmock.rig.ask import Ask
from groupmock.rig.core_rig import CoreRig
from groupmock.rig.making import core_of_profile
from groupmock.rig.watch import Watch
from groupmock_codec import APIS
from groupmock_codec.declare import Message, Versions
from groupmock_codec.units import NS_PER_MS

from ..language.scope import Value
from .contract import Answer, Closed, NotOnThisStage, Opening, Tolerance


def core_config(release: str, settings: Mapping[str, str]) -> Config:
    """Return the profile of a release with the settings of an exchange."""
    return resolve({"profile": f"kafka-{release}"}, list(settings.items()))


class CoreStage(Watch):
    """The stage on which one dialogue is played with a cluster of its own. `seed` determines the member ids."""

    kind = "core"
    tolerance = Tolerance()

    def __init__(self, release: str, settings: Mapping[str, str], seed: int = 1) -> None:
        config = core_config(release, settings)
        self.release = release
        self.settings = settings
        self.topic_ids: dict[str, bytes] = {}
        self.rig = CoreRig(core_of_profile(config.profile, config.settings, seed=seed, cluster_id="exchange"), watch=self)
        self._ranges = {row.key: Versions(row.lowest, row.highest) for row in self.core.environment.identity.advertised}
        self._answers: defaultdict[int, deque[Answer]] = defaultdict(deque)
        self._principals: dict[str, str] = {}
        self.known: Mapping[str, str] = {}

    @property
    def core(self) -> Core:
        return self.rig.core

    def group(self) -> str:
        """Return a random name, which is unused because every dialogue has its own cluster."""
        return f"g-{secrets.token_hex(5)}"

    def now_ms(self) -> float:
        return self.rig.now_ms

    def wall_ms(self) -> int:
        return self.core.environment.wall_ms(self.rig.now)

    def pause(self, ms: float) -> None:
        """Advance the virtual clock and fire the timers that become due."""
        self.rig.sleep(ms)

    def versions(self, key: int) -> Versions | None:
        """Return the versions that the profile offers."""
        return self._ranges.get(key)

    def topic(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> str:
        """Create the topic under its own name, because every dialogue has its own cluster."""
        self.topic_ids[name] = self.rig.topic(name, partitions, configs).topic_id
        return name

    def command(self, name: str, arguments: dict[str, Value]) -> None:
        self.rig.command(name, **arguments)

    def send(self, member: str, key: int, version: int, client_id: str | None, message: Message) -> None:
        """Queue one request, encoded to bytes as for a socket. It is dispatched when its connection is free."""
        principal = self._principals.get(member, ANONYMOUS)
        self.rig.send(key, version, message, connection=member, client_id=client_id, principal=principal)

    def open(self, member: str, opening: Opening) -> None:
        """Give the member a new connection. The core is told who sends a request, and knows nothing of passwords."""
        if opening.bare or opening.certificate is not None:
            raise NotOnThisStage("the core has no TLS")
        self.hang_up(member, "drops")
        if opening.user is not None:
            self._principals[member] = f"User:{opening.user}"

    def send_bytes(self, member: str, data: bytes, token: bool = False) -> None:
        """Raises NotOnThisStage, because the core takes messages and not bytes."""
        raise NotOnThisStage("bytes are sent over TCP only")

    def heard(self, member: str, limit_ms: float) -> tuple[bytes, bool]:
        raise NotOnThisStage("bytes are heard over TCP only")

    def answered(self, ask: Ask) -> None:
        """Keep an answer until the method `answer` returns it."""
        request = ask.request
        told = Answer(APIS[request.key].name, request.version, ask.answer, ask.sent / NS_PER_MS, self.now_ms())
        self._answers[request.connection].append(told)

    def answer(self, member: str, limit_ms: float) -> Answer | None:
        """Return the oldest answer that was not returned yet, and advance the clock up to `limit_ms` for it."""
        connection = self.rig.connection(member)
        answers = self._answers[connection.number]
        self.rig.advance(self.rig.now + round(limit_ms * NS_PER_MS), lambda: answers or connection.ended)
        if answers:
            return answers.popleft()
        if connection.ended:
            raise Closed
        return None

    def hang_up(self, member: str, how: str) -> None:
        """Close the member's connection, so that answers to it are lost."""
        if how == "finishes":
            raise NotOnThisStage("connections are half-closed over TCP only")
        self.rig.hang_up(member)
        self._principals.pop(member, None)

    def close(self) -> None: ...
