"""The part of a running cluster to which records and seed data are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..config.resolve import Config
    from ..core.cluster import Cluster
    from ..core.events import Command
    from ..net.clock import Clock


class Target(Protocol):
    """A cluster that runs commands on its thread. All calls are made on its thread."""

    @property
    def cluster(self) -> Cluster:
        ...

    @property
    def config(self) -> Config:
        """The configuration that the cluster was started with."""

    @property
    def clock(self) -> Clock:
        ...

    def submit(self, command: Command) -> object:
        """Run a command of the core. If it raises an error, nothing was changed."""
