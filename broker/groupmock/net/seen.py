"""Journal rows need these interfaces of an open request and its connection, which may be the broker's own (`net.call`) or observed by
`groupmock.record`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from groupmock_codec.declare import Message


class Peer(Protocol):
    """A connection as rows describe it, either the broker's own or one observed by `groupmock.record`."""

    @property
    def number(self) -> int:
        """The number of the connection in this run."""

    @property
    def node(self) -> int | None:
        """The node on whose listener the connection was accepted, if that is known."""

    @property
    def client_host(self) -> str:
        """The client's address as Java prints it."""

    @property
    def port(self) -> int:
        ...

    @property
    def listener(self) -> str:
        """The name of the listener that accepted the connection."""

    @property
    def cut_bytes(self) -> int:
        """The number of bytes of an incomplete frame."""

    @property
    def waiting(self) -> int:
        """The number of bytes of requests that are not handled yet."""

    @property
    def deaf(self) -> bool:
        """True if nothing can be sent on the connection any more."""


class Named(Protocol):
    """The codec of one API version as rows describe it."""

    @property
    def key(self) -> int:
        ...

    @property
    def name(self) -> str:
        ...

    @property
    def version(self) -> int:
        ...


class Seen(Protocol):
    """An open request as its row describes it, such as `net.call.Call`."""

    protocol_type: str | None

    @property
    def connection(self) -> Peer:
        ...

    @property
    def codec(self) -> Named:
        ...

    @property
    def frame(self) -> bytes:
        ...

    @property
    def correlation(self) -> bytes:
        """The correlation id as the bytes of the frame."""

    @property
    def client_id(self) -> str | None:
        ...

    @property
    def message(self) -> Message | None:
        """The message, or None if the request was not decoded."""

    @property
    def end(self) -> int:
        """The offset in the frame at which the message ends."""

    @property
    def received(self) -> int:
        """The run time at which the last byte of the request arrived."""

    @property
    def handled(self) -> int:
        """The run time at which the request was handled."""

    @property
    def ticket(self) -> int:
        """The number of the request in this run."""

    @property
    def by_listener(self) -> bool:
        """True if the request belongs to the authentication, and the core never saw it."""

    @property
    def quiet(self) -> bool:
        """True for a heartbeat that changed nothing in its group."""


class Reading(Named, Protocol):
    """The codec of one API version, with a decoder of requests."""

    def header(self, frame: bytes) -> tuple[str | None, int]:
        """Return the client id and the offset at which the body starts."""

    @property
    def decode(self) -> Callable[[bytes, int], tuple[Message, int]]:
        """The function (frame, offset) -> (request, end) that decodes a request."""


class Repeating(Protocol):
    """A heartbeat that was repeated, with its answer, such as `net.repeat.Repeat`."""

    template: object

    @property
    def codec(self) -> Reading:
        ...

    @property
    def message(self) -> Message:
        """The message of the answer to the heartbeat."""

    @property
    def answer_size(self) -> int:
        """The number of bytes of the answer without its length."""

    def frame(self, identifier: bytes) -> bytes:
        """Return the heartbeat with this correlation id, without its length."""
