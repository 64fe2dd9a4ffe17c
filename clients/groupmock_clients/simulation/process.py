"""A simulated client process, which finds its coordinator, sends requests on its own connections, and recovers from errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from groupmock_codec.api_keys import FIND_COORDINATOR
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest

from .link import Answered, Link

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from .world import World

KEYS_SINCE: Final = 4
"""The first version of FindCoordinator that has a list of keys (KIP-699)."""
REQUEST_MS: Final = 5_000
BACKOFF_MS: Final = 300
GIVEN_UP_MS: Final = 1_000


class Process(ABC):
    """A simulated process that may be killed and started again. `_place` numbers what it does: every callback of an earlier place is void.

    `key` and `key_type` are what FindCoordinator is asked for; `versions` maps an API key to the version that the process speaks.
    """

    def __init__(self, world: World, name: str, key: str, versions: Mapping[int, int], poll_ms: int, key_type: int = 0) -> None:
        self.world, self.name, self.key, self.key_type, self.versions, self.poll_ms = world, name, key, key_type, versions, poll_ms
        self.alive = False
        self.links: dict[int, Link] = {}
        self.coordinator: int | None = None
        self._place = 0
        self._asked_of = 0
        self._lives = 0

    # -- what a kind of process adds

    @abstractmethod
    def _begin(self) -> None:
        """Begin the process's work, now that its coordinator is known."""

    @abstractmethod
    def _born(self) -> None:
        """Forget everything that the process knew, because it starts anew."""

    @abstractmethod
    def _unfound(self) -> None:
        """Forget what is valid only as long as the coordinator is known."""

    @abstractmethod
    def _poll(self) -> None:
        """Run one iteration of the application's poll loop."""

    # -- a process

    def start(self) -> None:
        """Start the process without a memory, unless it is running."""
        if self.alive:
            return
        self.alive = True
        self.coordinator = None
        self._born()
        self._find()
        self._poll_later(self._life())

    def kill(self, half_open: bool) -> None:
        """Kill the process, with `half_open` without closing its connections."""
        self.alive = False
        self._born()
        self._place += 1
        for link in self.links.values():
            link.open = False
            if half_open:
                link.wire.gone = True
            else:
                link.wire.hang_up()
        self.links.clear()

    # -- finding a coordinator

    def _find(self) -> None:
        """Ask a running node for the coordinator, a different one with each attempt."""
        self._place += 1
        self._unfound()
        nodes = [node for node in self.world.nodes if self.world.up(node)]
        if not nodes:
            self._later(BACKOFF_MS, self._find)
            return
        self._asked_of += 1
        key, version = self.key, self._version(FIND_COORDINATOR)
        names = {"coordinator_keys": [key]} if version >= KEYS_SINCE else {"key": key}
        link = self._link(nodes[self._asked_of % len(nodes)])
        message = FindCoordinatorRequest(**names, key_type=self.key_type)
        link.ask(FIND_COORDINATOR, version, message, self._here(self._found), REQUEST_MS)

    def _found(self, answer: Any) -> None:
        told = None if answer is None else answer.coordinators[0] if answer.coordinators else answer
        if told is None or told.error_code or not self.world.up(told.node_id):
            self._later(BACKOFF_MS, self._find)
            return
        self.coordinator = told.node_id
        self._begin()

    def _lost_coordinator(self) -> None:
        """Look for the coordinator again after a pause."""
        self.coordinator = None
        self._unfound()
        self._place += 1
        self._later(BACKOFF_MS, self._find)

    # -- asking

    def _ask(self, key: int, message: Message, then: Answered, patience_ms: int = REQUEST_MS) -> None:
        if self.coordinator is None or not self.world.up(self.coordinator):
            self._lost_coordinator()
            return
        self._link(self.coordinator).ask(key, self._version(key), message, then, patience_ms)

    def _version(self, key: int) -> int:
        return self.versions[key]

    def _link(self, node: int) -> Link:
        link = self.links.get(node)
        if link is None or not link.open:
            link = self.links[node] = Link(self.world, self.name, node)
        return link

    # -- when

    def _poll_later(self, life: int) -> None:
        def poll() -> None:
            if self.alive and self._lives == life:
                self._poll()
                self._poll_later(life)

        self.world.later(self.poll_ms, poll)

    def _life(self) -> int:
        self._lives += 1
        return self._lives

    def _here(self, then: Answered) -> Answered:
        """Wrap a callback so that its call is ignored once the process has moved on or died."""
        place = self._place

        def came(answer: Any) -> None:
            if self.alive and self._place == place:
                then(answer)

        return came

    def _later(self, ms: int, callback: Callable[[], None]) -> None:
        place = self._place

        def come() -> None:
            if self.alive and self._place == place:
                callback()

        self.world.later(ms, come)


def ignored(answer: Any) -> None:
    """Ignore an answer for which nobody waits any more."""
