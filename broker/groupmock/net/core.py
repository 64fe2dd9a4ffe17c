"""What the driver needs of a core. `core.cluster.Cluster` has it; tests have smaller ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..core.effects import Effects, Lease
    from ..core.events import Event
    from ..core.identity import Identity


class Core(Protocol):
    """The single funnel, seen from the driver (architecture rule 1)."""

    identity: Identity

    def handle(self, event: Event, now: int) -> Effects:
        """Let one event happen."""

    def expire(self, now: int) -> Effects:
        """Fire what is due."""

    def deadline(self) -> int | None:
        """When to look again."""

    def renew(self, lease: Lease, now: int) -> None:
        """A repeated heartbeat under a valid lease."""
