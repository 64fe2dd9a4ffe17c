"""The interfaces of an open request and its connection that rows need: of our own (`net.call`), or of one observed by `groupmock.record`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from groupmock_codec.declare import Message


class Peer(Protocol):
    """A connection as rows have it: one of ours, or one observed by `groupmock.record`."""

    @property
    def number(self) -> int:
        """The number of the connection in this run."""

    @property
    def node(self) -> int | None:
        """The node whose listener it came to, if that is known."""

    @property
    def client_host(self) -> str:
        """The client's address as Java prints it."""

    @property
    def port(self) -> int:
        """The port of the client."""

    @property
    def cut_bytes(self) -> int:
        """The bytes of an incomplete frame."""

    @property
    def waiting(self) -> int:
        """The bytes of requests that were not looked at."""

    @property
    def deaf(self) -> bool:
        """True if nothing can be sent to it any more."""


class Named(Protocol):
    """An API in one version, as rows have it."""

    @property
    def key(self) -> int:
        """The key of the API."""

    @property
    def name(self) -> str:
        """Kafka's name of the API."""

    @property
    def version(self) -> int:
        """The version of the request and its answer."""


class Seen(Protocol):
    """An open request as rows have it, such as `net.call.Call`."""

    protocol_type: str | None

    @property
    def connection(self) -> Peer:
        """The connection of the request."""

    @property
    def codec(self) -> Named:
        """The API and version of the request."""

    @property
    def frame(self) -> bytes:
        """The frame without its length."""

    @property
    def correlation(self) -> bytes:
        """The correlation id, as the bytes of the frame."""

    @property
    def client_id(self) -> str | None:
        """The client id of the header."""

    @property
    def message(self) -> Message | None:
        """The message, if it was decoded."""

    @property
    def end(self) -> int:
        """The end of the message in the frame."""

    @property
    def received(self) -> int:
        """The time of its last byte."""

    @property
    def handled(self) -> int:
        """The time of its turn."""

    @property
    def ticket(self) -> int:
        """The number of the request in this run."""

    @property
    def quiet(self) -> bool:
        """True for a heartbeat that changed nothing."""


class Reading(Named, Protocol):
    """An API in one version with a decoder of requests."""

    def header(self, frame: bytes) -> tuple[str | None, int]:
        """Return the client id and the start of the body."""

    @property
    def decode(self) -> Callable[[bytes, int], tuple[Message, int]]:
        """The function (frame, offset) -> (request, end)."""


class Repeating(Protocol):
    """A heartbeat that is repeated, with its answer, such as `net.repeat.Repeat`."""

    template: object

    @property
    def codec(self) -> Reading:
        """The API and version of the heartbeat."""

    @property
    def message(self) -> Message:
        """The message of the answer."""

    @property
    def answer_size(self) -> int:
        """The bytes of the answer without its length."""

    def frame(self, identifier: bytes) -> bytes:
        """Return the heartbeat with this correlation id, without its length."""
