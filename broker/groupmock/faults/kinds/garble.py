"""The fault `garble`: bytes of the answer are changed, so that the client cannot read it, or reads it wrongly."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta

from ..actions import Piece, Write
from ..kind import Fault, FaultDice, Target

BODY_AT = 8
"""The first byte after length and correlation id. A client that cannot find the frame or its request never looks at the body."""


class Garble(Fault, tag="garble", frozen=True, kw_only=True):
    """Change bytes of the answer after its correlation id; its length stays. The seed decides which bytes."""

    bytes: Annotated[int, Meta(ge=1, le=1_048_576, description="how many bytes at most")] = 1
    at: Annotated[int | None, Meta(description="from this byte of the frame on (its length is 0 to 3); default: anywhere")] = None

    def act(self, target: Target) -> Write:
        return Write(partial(_spoil, self.bytes, self.at, target.dice))


def _spoil(count: int, at: int | None, dice: FaultDice, frame: bytes) -> list[Piece]:
    changed = bytearray(frame)
    # An `at` after the end of a short answer changes its last byte: the rule counts as fired, so it must do something.
    first = BODY_AT if at is None else min(max(at, 0), len(frame) - 1)
    places = [first + place for place in range(count)] if at is not None else [first + dice.below(len(frame) - first) for _ in range(count)]
    # An index drawn twice is changed once: two changes could undo each other.
    for place in dict.fromkeys(places):
        if place < len(frame):
            # 1 to 255: a byte XORed with 0 would stay as it is, and the rule would do nothing.
            changed[place] ^= 1 + dice.below(255)
    return [Piece(bytes(changed))]


KIND = Garble
