"""The nodes of the cluster as the network sees them. Connections of a stalled node wait; connections of a stopped node are closed, and
its port refuses clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.effects import ClockStepped, NodeChanged

if TYPE_CHECKING:
    from .clock import Clock
    from .connection import Connection
    from .record import Recorder


class Nodes:
    """Performs the effects of the core that stop, start or stall nodes or move the clock. `listening(node, on)` is called when the port
    of a node has to open or to refuse."""

    def __init__(self, connections: dict[int, Connection], record: Recorder, clock: Clock) -> None:
        self._connections = connections
        self._record = record
        self._clock = clock
        self.stalled: set[int] = set()
        self.listening: Callable[[int, bool], None] = _nobody
        self.effects: dict[type, Callable[[Any, int], None]] = {NodeChanged: self.changed, ClockStepped: self.stepped}

    def opened(self, connection: Connection) -> None:
        """Stall a new connection to a stalled node: the kernel accepts it, and nothing is read from it."""
        if connection.node in self.stalled:
            connection.stall()

    def changed(self, effect: NodeChanged, now: int) -> None:
        """Stop, start, stall or resume a node."""
        self._record.remark(f"node_{effect.what}", now, node=effect.node)
        connections = [connection for connection in self._connections.values() if connection.node == effect.node]
        if effect.what == "stalled":
            self.stalled.add(effect.node)
            for connection in connections:
                connection.stall()
            return
        self.stalled.discard(effect.node)
        if effect.what == "stopped":
            self.listening(effect.node, False)
            for connection in connections:
                if not connection.closing:
                    self._record.closed(connection, "server", f"node {effect.node} was stopped", now)
                # The connections are closed at once, because a stopped process does not wait for its peers to close their half.
                connection.shut(linger=False)
        elif effect.what == "started":
            self.listening(effect.node, True)
        else:
            for connection in connections:
                connection.unstall()

    def stepped(self, effect: ClockStepped, now: int) -> None:
        """Advance the clock of the run by the time that a command asked for. Timers that fall due on the way fire at their own times."""
        self._clock.step(effect.ns)


def _nobody(node: int, on: bool) -> None:
    """Do nothing: the callback of a driver without sockets, which has no ports."""
