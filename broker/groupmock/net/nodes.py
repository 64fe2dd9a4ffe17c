"""Nodes as the network has them: connections of a stalled node wait, those of a stopped one are closed, its port refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.effects import ClockStepped, NodeChanged

if TYPE_CHECKING:
    from .clock import Clock
    from .connection import Connection
    from .record import Recorder


class Nodes:
    """Performs what is wanted of nodes and of the clock. `listening(node, on)` is told when a node's port is to open or to refuse."""

    def __init__(self, connections: dict[int, Connection], record: Recorder, clock: Clock) -> None:
        self._connections = connections
        self._record = record
        self._clock = clock
        self.stalled: set[int] = set()
        self.listening: Callable[[int, bool], None] = _nobody
        self.effects: dict[type, Callable[[Any, int], None]] = {NodeChanged: self.changed, ClockStepped: self.stepped}

    def opened(self, connection: Connection) -> None:
        """Somebody connected to a node that is stalled: accepted, as the kernel does, and not heard."""
        if connection.node in self.stalled:
            connection.stall()

    def changed(self, effect: NodeChanged, now: int) -> None:
        """A node stopped, started, stalled or goes on."""
        self._record.remark(f"node_{effect.what}", now, node=effect.node)
        mine = [connection for connection in self._connections.values() if connection.node == effect.node]
        if effect.what == "stalled":
            self.stalled.add(effect.node)
            for connection in mine:
                connection.stall()
            return
        self.stalled.discard(effect.node)
        if effect.what == "stopped":
            self.listening(effect.node, False)
            for connection in mine:
                if not connection.closing:
                    self._record.closed(connection, "server", f"node {effect.node} was stopped", now)
                connection.shut(linger=False)  # a process that is gone waits for no peer to close its half
        elif effect.what == "started":
            self.listening(effect.node, True)
        else:
            for connection in mine:
                connection.unstall()

    def stepped(self, effect: ClockStepped, now: int) -> None:
        """The clock moves on; timers on the way fire at their own times."""
        self._clock.step(effect.ns)


def _nobody(node: int, on: bool) -> None:
    """There are no ports."""
