"""The errors of the codec. Each names the field and the byte at which a message went wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple


class Place(NamedTuple):
    """The reason and the place of an error: `path` as in `protocols[2].metadata`, `offset` in bytes from the message's start."""

    reason: str
    path: str = ""
    offset: int = 0


class CodecError(ValueError):
    """The base class of both errors. The place needs a second, slow pass, so it is computed only when somebody asks for it or prints the
    error."""

    budget: ClassVar[bool] = False
    """True if the message was refused for its cost and not because it is wrong."""

    def __init__(self, what: str, place: Place | Callable[[], Place]) -> None:
        super().__init__(what)
        self.what = what
        self._place = place

    @property
    def place(self) -> Place:
        """The reason, path and offset together."""
        if callable(self._place):
            self._place = self._place()
        return self._place

    @property
    def reason(self) -> str:
        """The reason in a few words."""
        return self.place.reason

    @property
    def path(self) -> str:
        """The path of the field, as in `protocols[2].metadata`; empty for the message as a whole."""
        return self.place.path

    @property
    def offset(self) -> int:
        """The bytes from the start of the message to the value that could not be read (0 when encoding)."""
        return self.place.offset

    def __str__(self) -> str:
        place = self.place
        where = f" at {place.path}" if place.path else ""
        return f"{self.what}: {place.reason}{where} (offset {place.offset})"

    def __reduce__(self) -> tuple[type[CodecError], tuple[str, Place]]:
        return type(self), (self.what, self.place)


class DecodeError(CodecError):
    """These bytes are no such message. Kafka closes the sender's connection."""


class TooManyElements(DecodeError):
    """The message has more array elements and tagged fields than its reader allows. This is known before the first of them is built."""

    budget = True


class EncodeError(CodecError):
    """This value cannot be written in that version: null, too long, out of range, or a field that the version lacks."""
