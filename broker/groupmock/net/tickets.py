"""Open requests by number. The number, a ticket, is all that the core knows of where an answer goes."""

from __future__ import annotations

from .call import Call
from .counters import Counters


class Tickets(dict[int, Call]):
    """Ticket -> the request that is open under it. Handed to the driver, so that whoever runs one can see what waits.

    Tickets count every request of a run, repeated heartbeats too (`Counters.handled` is the last one): a journal in which each has its rows
    has the same numbers, whoever was answered how.
    """

    def __init__(self, counters: Counters | None = None) -> None:
        super().__init__()
        self.counters = Counters() if counters is None else counters

    def open(self, call: Call) -> None:
        """Its connection waits for the answer from now on."""
        counters, key = self.counters, call.codec.key
        counters.handled = call.ticket = ticket = counters.handled + 1
        counters.requests[key] = counters.requests.get(key, 0) + 1
        self[ticket] = call.connection.call = call

    def close(self, ticket: int) -> Call | None:
        """It is open no more. None: it was not."""
        call = self.pop(ticket, None)
        if call is not None:
            call.connection.call = None
        return call

    def reopen(self, call: Call) -> None:
        """It was answered, and its connection is to wait all the same."""
        self[call.ticket] = call.connection.call = call
