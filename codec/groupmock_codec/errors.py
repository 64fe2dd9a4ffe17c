"""The errors of the codec name the field and the byte at which a message is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import msgspec


class Place(msgspec.Struct, frozen=True):
    """The reason for an error and its place: `path` is for instance `protocols[2].metadata`, and `offset` counts bytes from the
    message's start."""

    reason: str
    path: str = ""
    offset: int = 0


class CodecError(ValueError):
    """The base class of decoding and encoding errors. The place needs a second, slow pass, so it is computed only when somebody asks for
    it or prints the error."""

    budget: ClassVar[bool] = False
    """True if the message was refused because it costs too much, although it is valid."""

    def __init__(self, what: str, place: Place | Callable[[], Place]) -> None:
        super().__init__(what)
        self.what = what
        self._place = place

    @property
    def place(self) -> Place:
        """Return the reason, path and offset of the error."""
        if callable(self._place):
            self._place = self._place()
        return self._place

    @property
    def reason(self) -> str:
        """Return the reason of the error in a few words."""
        return self.place.reason

    @property
    def path(self) -> str:
        """Return the path of the wrong field, for instance `protocols[2].metadata`, or "" for the message as a whole."""
        return self.place.path

    @property
    def offset(self) -> int:
        """Return the number of bytes from the start of the message to the value that could not be read (0 when encoding)."""
        return self.place.offset

    def __str__(self) -> str:
        place = self.place
        where = f" at {place.path}" if place.path else ""
        return f"{self.what}: {place.reason}{where} (offset {place.offset})"

    def __reduce__(self) -> tuple[type[CodecError], tuple[str, Place]]:
        return type(self), (self.what, self.place)


class DecodeError(CodecError):
    """The bytes are not a valid message. Kafka closes the sender's connection."""


class TooManyElements(DecodeError):
    """The message has more array elements and tagged fields than its reader allows. This is known before the first of them is built."""

    budget = True


class EncodeError(CodecError):
    """The message cannot be encoded in that version, because a value is null, too long, out of range, or in a field that the version
    lacks."""
