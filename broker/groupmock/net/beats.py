"""Heartbeats of which a sink was not told: when they came (`net.repeat`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .connection import Connection


class Beats:
    """What a sink with `pulse` asks about heartbeats of which it was not told. `connections`: by number."""

    def __init__(self, connections: Mapping[int, Connection]) -> None:
        self._connections = connections

    def beaten(self, number: int) -> tuple[int, int]:
        """When a heartbeat that changed nothing came last on this connection, and the number of its row; 0: it has none, or none came."""
        connection = self._connections.get(number)
        return (0, 0) if connection is None else (connection.beaten, connection.beat_row)

    def retell(self, number: int) -> None:
        """The next heartbeat of this connection is to be told, whatever it is equal to."""
        connection = self._connections.get(number)
        if connection is not None:
            connection.repeat = connection.run = None
