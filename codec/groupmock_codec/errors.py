"""The typed errors of the codec. Each names the field and the byte where a message went wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple


class Place(NamedTuple):
    """Where and why a message was refused: `path` as in `protocols[2].metadata`, `offset` in bytes from the message's start."""

    reason: str
    path: str = ""
    offset: int = 0


class CodecError(ValueError):
    """Base of both. Finding the place costs a second, slow pass, so it is made only when somebody asks (or prints)."""

    budget: ClassVar[bool] = False
    """Refused for what it would cost, and not because it is wrong?"""

    def __init__(self, what: str, place: Place | Callable[[], Place]) -> None:
        super().__init__(what)
        self.what = what
        self._place = place

    @property
    def place(self) -> Place:
        """Reason, path and offset together."""
        if callable(self._place):
            self._place = self._place()
        return self._place

    @property
    def reason(self) -> str:
        """What is wrong, in a few words."""
        return self.place.reason

    @property
    def path(self) -> str:
        """The field, as in `protocols[2].metadata`; empty for the message as a whole."""
        return self.place.path

    @property
    def offset(self) -> int:
        """Bytes from the start of the message to the value that could not be read (0 when encoding)."""
        return self.place.offset

    def __str__(self) -> str:
        place = self.place
        where = f" at {place.path}" if place.path else ""
        return f"{self.what}: {place.reason}{where} (offset {place.offset})"

    def __reduce__(self) -> tuple[type[CodecError], tuple[str, Place]]:
        return type(self), (self.what, self.place)


class DecodeError(CodecError):
    """These bytes are no such message. Kafka closes the connection of who sent them."""


class TooManyElements(DecodeError):
    """A message of more array elements and tagged fields than its reader allows. Known before the first of them is built."""

    budget = True


class EncodeError(CodecError):
    """This value cannot be written in that version: null, too long, out of range, or a field the version has not."""
