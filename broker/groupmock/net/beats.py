"""Heartbeats that change nothing are not written as rows for every sink, so a sink can ask for their times (`net.repeat`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .connection import Connection


class Beats:
    """Answers the questions of a sink with `pulse` about heartbeats that were not reported to it. `connections` maps numbers to
    connections."""

    def __init__(self, connections: Mapping[int, Connection]) -> None:
        self._connections = connections

    def beaten(self, number: int) -> tuple[int, int, int]:
        """Return the time of the last heartbeat that changed nothing on a connection, the number of that heartbeat's row (0 without a
        row), and how many heartbeats of the connection were not reported. All are 0 without such a heartbeat."""
        connection = self._connections.get(number)
        return (0, 0, 0) if connection is None else (connection.beaten, connection.beat_row, connection.unreported)

    def retell(self, number: int) -> None:
        """Report the next heartbeat of this connection even if it equals the previous one."""
        connection = self._connections.get(number)
        if connection is not None:
            connection.repeat = connection.run = None
