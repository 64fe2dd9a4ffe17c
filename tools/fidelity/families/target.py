"""A valid request that is going to be spoiled: its header, its parts, and what puts them together again."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from groupmock.rig.wire import framed

from .encoded_parts import EncodedPart, joined

CORRELATION: Final = 7


class Case(NamedTuple):
    """`writes`: what is sent, write by write. `goes_on`: a request behind it makes sense (False: a frame was left open)."""

    name: str
    writes: list[bytes]
    goes_on: bool = True


class RequestToSpoil(NamedTuple):
    """A valid request to be spoiled."""

    key: int
    version: int
    flexible: bool
    parts: list[EncodedPart]
    rng: random.Random

    def head(self, client: bytes = b"\0\3raw", tags: bytes = b"\0", correlation: int = CORRELATION) -> bytes:
        """The header by hand: `client` with its length, `tags` only where the version has them."""
        return header(self.key, self.version, correlation, client) + (tags if self.flexible else b"")

    @property
    def whole(self) -> bytes:
        """The good request, framed."""
        return framed(self.head() + joined(self.parts))

    def with_parts(self, parts: list[EncodedPart]) -> list[bytes]:
        """One write of the request made of other parts."""
        return [framed(self.head() + joined(parts))]

    def spoiled(self, kinds: tuple[str, ...], change: Callable[[EncodedPart], bytes]) -> list[bytes] | None:
        """One write with one part of these kinds changed; None: there is none."""
        places = [place for place, part in enumerate(self.parts) if part.kind in kinds]
        if not places:
            return None
        place = self.rng.choice(places)
        part = self.parts[place]
        return self.with_parts([*self.parts[:place], part._replace(data=change(part)), *self.parts[place + 1 :]])


def header(key: int, version: int, correlation: int, client: bytes = b"\0\3raw") -> bytes:
    """A request header without tags."""
    return struct.pack(">hhi", key, version, correlation) + client
