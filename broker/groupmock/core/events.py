"""An event is a request, a closed connection or a command, and is the input of the core. `Core.handle(event, now)` is the only way in
(docs/reference/architecture.md#rule-1).

Times (`now`, deadlines) are int nanoseconds since the run's epoch; durations in settings keep Kafka's milliseconds.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from groupmock_codec.declare import Message

PLAINTEXT: Final = "PLAINTEXT"
"""The name and the security protocol of the listener of a node for which no listeners are set (SecurityProtocol, KIP-103)."""
ANONYMOUS: Final = "User:ANONYMOUS"
"""The principal of a connection that is not authenticated (KafkaPrincipal.ANONYMOUS)."""


class Request(msgspec.Struct, gc=False, frozen=True):
    """A decoded request of a client. An answer must name its `ticket`, which is unique in a run and belongs to one `connection`."""

    ticket: int
    connection: int
    node: int  # The id of the node at whose listener the request arrived.
    key: int
    version: int
    client_id: str | None
    # The client's address has the form of Java's InetAddress.toString(): "/10.0.0.7" (docs/kafka/group-protocol.md#records).
    client_host: str
    message: Message
    listener: str = PLAINTEXT  # The client gets the addresses of the listener to which it is connected (KIP-103).
    principal: str = ANONYMOUS  # The principal of the connection has no effect yet, because there is no authorizer.


class Disconnected(msgspec.Struct, gc=False, frozen=True):
    """A connection of a client was closed. Groups ignore it (P1-d7: only sessions tell that a member is gone); its parked fetches and fetch
    sessions may be dropped."""

    connection: int


class Command(msgspec.Struct, gc=False, frozen=True):
    """An operator or a test has given a command, such as to create a topic or to move a coordinator. `name` is one that `steering.find`
    knows."""

    name: str
    arguments: dict[str, Any]


Event = Request | Disconnected | Command
