"""The times of heartbeats that were not reported to a sink (`net.repeat`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .connection import Connection


class Beats:
    """Questions of a sink with `pulse` about heartbeats that were not reported to it. `connections` is by number."""

    def __init__(self, connections: Mapping[int, Connection]) -> None:
        self._connections = connections

    def beaten(self, number: int) -> tuple[int, int]:
        """Return when the last heartbeat that changed nothing came on this connection, and the number of its row; 0 for no row, and if
        none came."""
        connection = self._connections.get(number)
        return (0, 0) if connection is None else (connection.beaten, connection.beat_row)

    def retell(self, number: int) -> None:
        """Report the next heartbeat of this connection even if it equals the last one."""
        connection = self._connections.get(number)
        if connection is not None:
            connection.repeat = connection.run = None
