"""Events are what can happen to the cluster. They are values; `Core.handle(event, now)` is the only way in
(docs/reference/architecture.md#rule-1).

Times (`now`, deadlines) are int nanoseconds since the run's epoch; durations in settings keep Kafka's milliseconds.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from groupmock_codec.declare import Message

PLAINTEXT: Final = "PLAINTEXT"
"""The listener, and its protocol, of a node that was told of no other (SecurityProtocol, KIP-103)."""
ANONYMOUS: Final = "User:ANONYMOUS"
"""The principal of a connection that did not authenticate (KafkaPrincipal.ANONYMOUS)."""


class Request(msgspec.Struct, gc=False, frozen=True):
    """A decoded request of a client. An answer must name its `ticket`, which is unique in a run and belongs to one `connection`."""

    ticket: int
    connection: int
    node: int  # the node (1..N) whose listener the frame came in on
    key: int
    version: int
    client_id: str | None
    client_host: str  # Java's InetAddress.toString(): "/10.0.0.7" (docs/kafka/group-protocol.md#records)
    message: Message
    listener: str = PLAINTEXT  # by which the connection came: clients are told addresses of that listener (KIP-103)
    principal: str = ANONYMOUS  # whom rights are asked of: nobody asks yet; what TLS or SASL found out comes with those listeners


class Disconnected(msgspec.Struct, gc=False, frozen=True):
    """The end of a connection. Groups do not care (P1-d7: only sessions tell who is gone); its parked fetches and fetch sessions may be
    dropped."""

    connection: int


class Command(msgspec.Struct, gc=False, frozen=True):
    """Somebody steers: a topic is created from the CLI, a coordinator moves. `name` is one that `steering.find` knows."""

    name: str
    arguments: dict[str, Any]


Event = Request | Disconnected | Command
