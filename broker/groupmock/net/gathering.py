"""The reads of one iteration of the loop are handled together behind the last of them, in their order.

Then the answers go out together, too. The caches hold the code of one step while many requests take it, and clients are not woken one by
one, which is dear in a virtual machine. Every other entry of the driver first handles what was read before, so that only the moment changes
and never the order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .connection import Connection

FROM_CONNECTIONS: Final = 16
"""With fewer connections every read is handled at once, because waiting for other reads costs one iteration of the loop."""


class Gathering:
    """The reads of one driver that are not handled yet. `soon` calls back after the loop's present look at its sockets; None handles every
    read at once. `broken` is called when a read could not be handled."""

    def __init__(self, soon: Callable[[Callable[[], None]], object] | None, broken: Callable[[str, Exception], None]) -> None:
        self._soon = soon
        self._broken = broken
        self.reads: list[tuple[Connection, bytes]] = []

    def keeps(self, connection: Connection, data: bytes, connections: int) -> bool:
        """Keep a read until the end of the iteration, and return True; or return False if it has to be handled now."""
        if self._soon is None or connections < FROM_CONNECTIONS:
            return False
        if not self.reads:
            self._soon(self.catch_up)
        self.reads.append((connection, data))
        return True

    def catch_up(self) -> None:
        """Handle what was read and not handled yet, each read as if it had just come."""
        if not self.reads:
            return
        reads, soon = self.reads[:], self._soon
        self.reads.clear()
        self._soon = None
        for connection, data in reads:
            try:
                connection.data_received(data)
            except Exception as defect:
                self._broken("a read", defect)
                connection.break_off()
        self._soon = soon

    def behind(self, entry: Callable[[], None]) -> Callable[[], None]:
        """Return an entry of the driver that first catches up."""

        def caught_up() -> None:
            self.catch_up()
            entry()

        return caught_up
