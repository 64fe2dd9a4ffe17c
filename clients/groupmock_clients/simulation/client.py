"""A simulated process that is a member of a group, of whichever type."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from .process import Process

if TYPE_CHECKING:
    from .plan import SimulatedClient
    from .world import World


class Client(Process):
    group: str
    member_id: str

    def __init__(self, world: World, about: SimulatedClient) -> None:
        super().__init__(world, about.name, about.group, about.versions, about.heartbeat_ms)
        self.about = about
        self.stable = False
        self.at_odds = False
        """True if the group refused the protocols that this member offers. A group that was loaded knows the chosen one alone, until it
        rebalances."""

    @abstractmethod
    def leave(self) -> None: ...

    @abstractmethod
    def subscribe(self, topics: list[str]) -> None:
        """Subscribe to these topics and no others."""

    def match(self, regex: str) -> None:
        """Subscribe also to topics that match this regular expression, if the protocol supports that."""

    def commit(self) -> None:
        """Commit what was delivered, if the protocol has committed offsets."""

    @property
    def member(self) -> tuple[str, int, str | None] | None:
        """Return member id, generation or epoch, and instance id for transactional commits (KIP-447), or None outside a group."""
        return None

    @property
    @abstractmethod
    def settled(self) -> bool:
        """Tell whether the member is in the group and is not about to rejoin."""

    def _unfound(self) -> None:
        self.stable = False
