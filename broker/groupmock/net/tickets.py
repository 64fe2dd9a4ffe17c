"""The open requests of a run by number. The number, a ticket, is all that the core knows about where an answer goes."""

from __future__ import annotations

from .call import Call
from .counters import Counters


class Tickets(dict[int, Call]):
    """The open requests by their tickets. The driver is created with it, so that its owner can see what waits.

    Tickets count every request of a run, repeated heartbeats too (`Counters.handled` is the last one): a journal with rows for each has
    the same numbers as any other."""

    def __init__(self, counters: Counters | None = None) -> None:
        super().__init__()
        self.counters = Counters() if counters is None else counters

    def open(self, call: Call) -> None:
        """Give the request a ticket. Its connection waits for the answer from now on."""
        counters, key = self.counters, call.codec.key
        counters.handled = call.ticket = ticket = counters.handled + 1
        counters.requests[key] = counters.requests.get(key, 0) + 1
        self[ticket] = call.connection.call = call

    def close(self, ticket: int) -> Call | None:
        """Close a ticket and return its request, or None if it was not open."""
        call = self.pop(ticket, None)
        if call is not None:
            call.connection.call = None
        return call

    def reopen(self, call: Call) -> None:
        """Open an answered request again, so that its connection waits."""
        self[call.ticket] = call.connection.call = call
