"""A `Call` is an open request, with all that is needed to handle, record and answer it.

The core knows an open request only by its number, the ticket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .counters import Counters

if TYPE_CHECKING:
    from collections.abc import Callable

    from groupmock_codec.declare import Message

    from ..faults.plan import Rule
    from .codecs import ApiCodec
    from .connection import Connection


class Call(msgspec.Struct, eq=False):
    """A request that was read and decoded once and is not answered yet. Meanwhile its connection is mute (see `net.driver`).

    It is Kafka's RequestChannel.Request, with header and message. It is dropped after the answer, so that an idle connection keeps no
    frame, which may be as long as socket.request.max.bytes."""

    connection: Connection
    codec: ApiCodec
    frame: bytes
    client_id: str | None
    message: Message | None
    end: int  # Position in the frame at which the message ends, because Kafka ignores the bytes after it.
    received: int  # Run time in ns at which the last byte of the request arrived.
    handled: int  # Run time in ns at which the request was handled: later than `received` if it waited behind another request.
    ticket: int = 0
    quiet: bool = False  # True for a heartbeat that changed nothing: only sinks that want every heartbeat get a row of it.
    told: bool = False  # True for a heartbeat that changed nothing, but differs from the heartbeat before it.
    hidden: bool = False  # True for a heartbeat that changed nothing and that no sink wants.
    protocol_type: str | None = None  # Protocol type of the group of a JoinGroup or SyncGroup, if a row needs it.
    recorded: bool = False  # True if the row of the request is written already, because a fault rule matched the request.
    held_by: Rule | None = None  # The fault rule that delays this request.
    by_listener: bool = False  # True if the listener's authentication handled the request, and not the core.
    go_on: Callable[[int], None] | None = None  # Called when the delay of that fault rule is over.

    @property
    def correlation(self) -> bytes:
        """The correlation id, as the bytes of the frame."""
        return self.frame[4:8]

    def asked(self) -> Message:
        """Return the message of the request. While there is no fault rule, a parked request keeps only its frame, which is smaller; if a
        later rule needs the message, the frame is decoded again."""
        if self.message is None:
            self.message = self.codec.decode(self.frame, self.codec.header(self.frame)[1])[0]
        return self.message

    def narrow(self, message: Message) -> None:
        """Replace the message, because a fault rule removed a part of the request. It is not decoded again, since there is a gate until
        it is answered."""
        self.message = message


class Tickets(dict[int, Call]):
    """Maps the tickets of open requests to the requests. The driver gets it when it is created, so that its owner can see the waiting
    requests.

    Tickets count every request of a run, repeated heartbeats included (`Counters.handled` is the last one), so that they do not depend on
    which requests have rows."""

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

    def tidy(self) -> None:
        """Free what many answers have left behind, because a dict keeps the room for all the entries that it ever had."""
        from .trim import give_back  # An idle moment has imported this module already.

        still_open = dict(self)
        self.clear()
        self.update(still_open)
        give_back()

    def reopen(self, call: Call) -> None:
        """Treat an answered request as open again, so that its connection handles no other request yet."""
        self[call.ticket] = call.connection.call = call
