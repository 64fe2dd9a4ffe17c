"""The ground that every part of the core stands on: what a cluster was told, its clock and dice, which of its nodes run, who holds what.

It imports no part, so that a part can be built, tested and replaced with this alone and what is handed in beside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from groupmock_codec.units import NS_PER_MS

from .dice import Bits, Dice
from .timers import Key, Timers

if TYPE_CHECKING:
    from .events import Event, Request
    from .identity import Identity, Listener, Node
    from .settings import Settings
    from .work import Work


class Held(msgspec.Struct, frozen=True):
    """An operator's holds of one group: the state it is held in, how much waits for its release, and which members are frozen."""

    state: str | None = None
    waiting: int = 0
    frozen: tuple[str, ...] = ()


class Holds(Protocol):
    """Requests and timers that wait because an operator told them to (core.steering.holds). The core asks before anything happens to a
    group."""

    def keeps(self, request: Request) -> bool:
        """Does this request wait? Then it is kept."""

    def defers(self, key: Key, group_id: str, state: str) -> bool:
        """Does this timer of a group in that state wait? Then it is kept."""

    def holds_phase(self, group_id: str) -> bool:
        """Is the group's join phase not to end?"""

    def keeps_group(self, group_id: str) -> bool:
        """Is the group not to be swept away?"""

    def keeps_markers(self, transactional_id: str) -> bool:
        """Are the markers of the id's transactions not to be written?"""

    def leader(self, group_id: str) -> str | None:
        """Return the member id, instance id or client id that is to lead the group's next generation, if one was chosen."""

    def leads(self, group_id: str) -> None:
        """The chosen one leads now: the choice was for one generation and is over."""

    def of(self, group_id: str) -> Held:
        ...


class NoHolds:
    """Holds of a cluster that nobody steers: nothing waits."""

    def keeps(self, request: Request) -> bool:
        return False

    def defers(self, key: Key, group_id: str, state: str) -> bool:
        return False

    def holds_phase(self, group_id: str) -> bool:
        """Every join phase may end."""
        return False

    def keeps_group(self, group_id: str) -> bool:
        """An empty group may be swept away."""
        return False

    def keeps_markers(self, transactional_id: str) -> bool:
        """Every marker may be written."""
        return False

    def leader(self, group_id: str) -> str | None:
        """None: the leader is whom Kafka would take."""
        return None

    def leads(self, group_id: str) -> None:
        """Nobody was chosen, so there is nothing to forget."""

    def of(self, group_id: str) -> Held:
        """Nothing is held in any group."""
        return Held()


NO_HOLDS: Final = NoHolds()
"""The holds of every cluster that nobody steers. The core knows by this object that a request need not be asked about."""


class Environment:
    """Settings, identity, dice, timers, nodes, the wall clock, holds.

    `epoch_ms` is the wall clock (ms since 1970) at run time 0: timestamps on the wire are `wall_ms(now)`.
    """

    def __init__(self, settings: Settings, identity: Identity, bits: Bits, epoch_ms: int) -> None:
        self.settings = settings
        self.known_as(identity)
        self.dice = Dice(bits)
        self.timers = Timers()
        self.up = identity.nodes
        """The nodes that run; a stalled one does."""
        self.stalled: set[int] = set()
        self.holds: Holds = NO_HOLDS
        self.ready: deque[Event | Key] = deque()
        """Held requests and timers that may go on now. The core takes them from here, in order, before the entry that released them
        returns."""
        self.busy: list[Work] = []
        """Work that names groups, in the order in which it was begun."""
        self.epoch_ms = epoch_ms

    def known_as(self, identity: Identity) -> None:
        """Change what the cluster tells of itself, because a node may be added while it runs."""
        self.identity = identity
        self.endpoints = identity.endpoints
        """The addresses of each node by listener."""

    def reached(self, nodes: Iterable[Node], listener: str) -> Iterator[tuple[Node, Listener]]:
        """Nodes as those are told of them who came by that listener (Kafka: MetadataCache.getAliveBrokerNodes)."""
        return ((node, self.endpoints[node.node_id][listener]) for node in nodes)

    def wall_ms(self, now: int) -> int:
        """Milliseconds since 1970 at run time `now`."""
        return self.epoch_ms + now // NS_PER_MS
