"""Bytes of the answer are changed: the client sees an answer that it cannot read, or reads wrongly."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta

from ..actions import Piece, Write
from ..kind import Fault, FaultDice, Target

BODY_AT = 8
"""Behind the length and the correlation id: a client that could not find the frame or its request would never look at the body."""


class Garble(Fault, tag="garble", frozen=True, kw_only=True):
    """Bytes of the answer behind its correlation id are changed; its length stays. The seed decides which bytes."""

    bytes: Annotated[int, Meta(ge=1, le=1_048_576, description="how many bytes at most")] = 1
    at: Annotated[int | None, Meta(description="from this byte of the frame on (its length is 0 to 3); default: anywhere")] = None

    def act(self, target: Target) -> Write:
        """Send the answer with changed bytes."""
        return Write(partial(_spoil, self.bytes, self.at, target.dice))


def _spoil(count: int, at: int | None, dice: FaultDice, frame: bytes) -> list[Piece]:
    changed = bytearray(frame)
    # An `at` behind the end of a short answer strikes its last byte: the rule counts as fired, so it must do something.
    first = BODY_AT if at is None else min(max(at, 0), len(frame) - 1)
    places = [first + place for place in range(count)] if at is not None else [first + dice.below(len(frame) - first) for _ in range(count)]
    # A place drawn twice is changed once: two changes could undo each other.
    for place in dict.fromkeys(places):
        if place < len(frame):
            # 1 to 255: a byte XORed with 0 would stay as it is, and the rule would do nothing.
            changed[place] ^= 1 + dice.below(255)
    return [Piece(bytes(changed))]


KIND = Garble
