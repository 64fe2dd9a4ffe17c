"""Events: what can happen to the cluster, as values. `Core.handle(event, now)` is the only way in (docs/reference/architecture.md#rule-1).

Times (`now`, deadlines) are int nanoseconds since the run's epoch; durations in settings keep Kafka's milliseconds.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from groupmock_codec.declare import Message

PLAINTEXT: Final = "PLAINTEXT"
"""The listener and protocol of a node with no other listener (SecurityProtocol, KIP-103)."""
ANONYMOUS: Final = "User:ANONYMOUS"
"""The principal of a connection that did not authenticate (KafkaPrincipal.ANONYMOUS)."""


class Request(msgspec.Struct, gc=False, frozen=True):
    """A decoded request of a client. An answer must name its `ticket`, which is unique in a run and belongs to one `connection`."""

    ticket: int
    connection: int
    node: int  # The node (1..N) on whose listener the frame arrived
    key: int
    version: int
    client_id: str | None
    client_host: str  # Java's InetAddress.toString(): "/10.0.0.7" (docs/kafka/group-protocol.md#records)
    message: Message
    listener: str = PLAINTEXT  # The listener of the connection: clients are told its addresses (KIP-103)
    principal: str = ANONYMOUS  # The principal of the connection; nothing checks its rights yet


class Disconnected(msgspec.Struct, gc=False, frozen=True):
    """The end of a connection. Groups ignore it (P1-d7: only sessions tell that a member is gone); its parked fetches and fetch sessions
    may be dropped."""

    connection: int


class Command(msgspec.Struct, gc=False, frozen=True):
    """A command of an operator: a topic is created from the CLI, a coordinator moves. `name` is one that `steering.find` knows."""

    name: str
    arguments: dict[str, Any]


Event = Request | Disconnected | Command
