"""A valid request that is to be spoiled, as a header and parts."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from groupmock.rig.wire import framed

from .encoded_parts import EncodedPart, joined

CORRELATION: Final = 7


class Case(NamedTuple):
    """One hostile input for a broker, as bytes to be sent. `writes` has the bytes of each write. `goes_on` is False if a frame was left
    open, so that no further request makes sense."""

    name: str
    writes: list[bytes]
    goes_on: bool = True


class RequestToSpoil(NamedTuple):
    key: int
    version: int
    flexible: bool
    parts: list[EncodedPart]
    rng: random.Random

    def head(self, client: bytes = b"\0\3raw", tags: bytes = b"\0", correlation: int = CORRELATION) -> bytes:
        """Return the request header as bytes. `client` includes its length, and `tags` is used in flexible versions only."""
        return header(self.key, self.version, correlation, client) + (tags if self.flexible else b"")

    @property
    def whole(self) -> bytes:
        """Return the request as a frame, without the error that is to be planted."""
        return framed(self.head() + joined(self.parts))

    def with_parts(self, parts: list[EncodedPart]) -> list[bytes]:
        """Return the request with other parts in its body, as one write."""
        return [framed(self.head() + joined(parts))]

    def spoiled(self, kinds: tuple[str, ...], change: Callable[[EncodedPart], bytes]) -> list[bytes] | None:
        """Return the request with one part of these kinds changed, as one write, or None if it has no such part."""
        places = [place for place, part in enumerate(self.parts) if part.kind in kinds]
        if not places:
            return None
        place = self.rng.choice(places)
        part = self.parts[place]
        return self.with_parts([*self.parts[:place], part._replace(data=change(part)), *self.parts[place + 1 :]])


def header(key: int, version: int, correlation: int, client: bytes = b"\0\3raw") -> bytes:
    """Return a request header without tagged fields, as bytes."""
    return struct.pack(">hhi", key, version, correlation) + client
