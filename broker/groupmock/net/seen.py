"""What a row wants of an open request and its connection: of our own (`net.call`), or of one that passes by (`groupmock.record`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from groupmock_codec.declare import Message


class Peer(Protocol):
    """A connection, as rows have it: one of ours, or one that only passes by (`groupmock.record`)."""

    @property
    def number(self) -> int:
        """Of the connection in this run."""

    @property
    def node(self) -> int | None:
        """Whose listener it came to, where that is known."""

    @property
    def client_host(self) -> str:
        """As Java prints an address."""

    @property
    def port(self) -> int:
        """The client's."""

    @property
    def cut_bytes(self) -> int:
        """Bytes that have come of a frame whose rest has not."""

    @property
    def waiting(self) -> int:
        """Bytes of requests that were not looked at."""

    @property
    def deaf(self) -> bool:
        """Nothing can be sent to it any more."""


class Named(Protocol):
    """An API in one version, as rows have it."""

    @property
    def key(self) -> int:
        """Kafka's number of it."""

    @property
    def name(self) -> str:
        """Kafka's name of it."""

    @property
    def version(self) -> int:
        """Of the request and its answer."""


class Seen(Protocol):
    """An open request, as rows have it: `net.call.Call` is one."""

    protocol_type: str | None

    @property
    def connection(self) -> Peer:
        """Where it came in."""

    @property
    def codec(self) -> Named:
        """What it is."""

    @property
    def frame(self) -> bytes:
        """Without its length."""

    @property
    def correlation(self) -> bytes:
        """The client's own number of it, as it stands in the frame."""

    @property
    def client_id(self) -> str | None:
        """Of its header."""

    @property
    def message(self) -> Message | None:
        """What was read, if it was."""

    @property
    def end(self) -> int:
        """Of the message in the frame."""

    @property
    def received(self) -> int:
        """When its last byte came."""

    @property
    def handled(self) -> int:
        """When its turn came."""

    @property
    def ticket(self) -> int:
        """Its number in this run."""

    @property
    def quiet(self) -> bool:
        """A heartbeat that changed nothing?"""


class Reading(Named, Protocol):
    """An API in one version whose requests can be read."""

    def header(self, frame: bytes) -> tuple[str | None, int]:
        """The client id and where the body starts."""

    @property
    def decode(self) -> Callable[[bytes, int], tuple[Message, int]]:
        """(frame, offset) -> (request, end)."""


class Repeating(Protocol):
    """A heartbeat that comes again and again, with its answer: `net.repeat.Repeat` is one."""

    template: object

    @property
    def codec(self) -> Reading:
        """What it is."""

    @property
    def message(self) -> Message:
        """Of the answer."""

    @property
    def answer_size(self) -> int:
        """Bytes of the answer without its length."""

    def frame(self, identifier: bytes) -> bytes:
        """The heartbeat with this correlation id, without its length."""
