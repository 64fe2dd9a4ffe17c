"""The environment is the state that all parts of the core share: settings, identity, clock, random source, timers, what commands hold back,
and the nodes that are up.

This module imports no part, so that a part can be built, tested and replaced with the environment and what is passed in beside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from groupmock_codec.units import NS_PER_MS

from .dice import Bits, Dice
from .settings import listed
from .timers import Key, Timers

if TYPE_CHECKING:
    from .events import Event, Request
    from .identity import Identity, Listener, Node
    from .settings import Settings
    from .work import Work


class Held(msgspec.Struct, frozen=True):
    """A description of what commands hold back of a group: the state in which it is held, the number of waiting requests and timers, and
    the frozen members."""

    state: str | None = None
    waiting: int = 0
    frozen: tuple[str, ...] = ()


class Holds(Protocol):
    """Decides which requests and timers have to wait because of a command (core.steering.holds). The core asks before anything happens
    to a group."""

    def keeps(self, request: Request) -> bool:
        """True if a command makes the request wait. The method then stores it."""

    def defers(self, key: Key, group_id: str, state: str) -> bool:
        """True if a command makes the timer of a group in this state wait. The method then stores it."""

    def holds_phase(self, group_id: str) -> bool:
        """True if a command keeps the group's join phase from ending."""

    def keeps_group(self, group_id: str) -> bool:
        """True if a command keeps the group from being deleted when it is empty."""

    def keeps_markers(self, transactional_id: str) -> bool:
        """True if a command keeps the markers of the id's transactions from being written."""

    def leader(self, group_id: str) -> str | None:
        """Return the member id, instance id or client id of the leader that a command chose for the group's next generation, or None."""

    def leads(self, group_id: str) -> None:
        """Forget the chosen leader, because the generation for which a command chose it has begun."""

    def of(self, group_id: str) -> Held: ...


class NoHolds:
    """The implementation of Holds for a cluster in which no command holds anything back, so that nothing waits."""

    def keeps(self, request: Request) -> bool:
        return False

    def defers(self, key: Key, group_id: str, state: str) -> bool:
        return False

    def holds_phase(self, group_id: str) -> bool:
        return False

    def keeps_group(self, group_id: str) -> bool:
        return False

    def keeps_markers(self, transactional_id: str) -> bool:
        return False

    def leader(self, group_id: str) -> str | None:
        return None

    def leads(self, group_id: str) -> None: ...

    def of(self, group_id: str) -> Held:
        return Held()


NO_HOLDS: Final = NoHolds()
"""The single instance of NoHolds, by which the core recognizes that requests need no check."""


CONSUMER_GROUPS: Final = "group.version"
SHARE_GROUPS: Final = "share.version"
STREAMS_GROUPS: Final = "streams.version"


class Environment:
    """The state that all parts of a core share.

    `epoch_ms` is the wall clock (ms since 1970) at run time 0: timestamps on the wire are `wall_ms(now)`."""

    def __init__(self, settings: Settings, identity: Identity, bits: Bits, epoch_ms: int) -> None:
        self.settings = settings
        self.known_as(identity)
        self.dice = Dice(bits)
        self.timers = Timers()
        self.up = identity.nodes
        """The nodes that are up, including stalled nodes."""
        self.stalled: set[int] = set()
        self.holds: Holds = NO_HOLDS
        self.ready: deque[Event | Key] = deque()
        """Requests and timers that a command had held back and that may continue now. The core handles them in order before the entry
        that released them returns."""
        self.busy: list[Work] = []
        """The unfinished work that is split into steps and for which later requests to the same groups or to the controller wait, in the
        order in which it began."""
        self.epoch_ms = epoch_ms

    def known_as(self, identity: Identity) -> None:
        """Replace the identity that clients are told, because a node may be added while the cluster runs."""
        self.identity = identity
        self.levels = {each.name: each.finalized or 0 for each in identity.features}
        """The finalized level of each feature that the cluster's release knows."""
        protocols = listed(self.settings.group_coordinator_rebalance_protocols)
        self.consumer_groups = "consumer" in protocols and self.levels.get(CONSUMER_GROUPS) != 0
        """True if the cluster supports consumer groups. Each broker's settings and the cluster's finalized features both decide
        (KIP-848, KIP-1022). In a release without such a feature the settings alone decide."""
        self.share_groups = self.levels.get(SHARE_GROUPS) != 0
        """False if the feature of share groups was downgraded (KIP-932). A release that lacks the feature advertises none of their APIs."""
        self.streams_groups = "streams" in protocols and self.levels.get(STREAMS_GROUPS) != 0
        """True if the cluster supports streams groups. Settings and feature both decide, as for consumer groups (ST-05)."""
        self.endpoints = identity.endpoints
        """The addresses of each node, by listener name."""

    def reached(self, nodes: Iterable[Node], listener: str) -> Iterator[tuple[Node, Listener]]:
        """Return the nodes with the addresses that they have on the client's listener (Kafka: MetadataCache.getAliveBrokerNodes)."""
        return ((node, self.endpoints[node.node_id][listener]) for node in nodes)

    def wall_ms(self, now: int) -> int:
        """Return the wall clock time (ms since 1970) at run time `now`."""
        return self.epoch_ms + now // NS_PER_MS
