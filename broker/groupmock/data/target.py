"""What records and seed data are written to: as much of a running cluster as that needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..config.resolve import Config
    from ..core.cluster import Cluster
    from ..core.events import Command
    from ..net.clock import Clock


class Target(Protocol):
    """A cluster that takes commands; every call is made on its thread."""

    @property
    def cluster(self) -> Cluster:
        """Its parts."""

    @property
    def config(self) -> Config:
        """What it was started with."""

    @property
    def clock(self) -> Clock:
        """Its run time."""

    def submit(self, command: Command) -> object:
        """Run a command. Raises what that raises; nothing was changed then."""
