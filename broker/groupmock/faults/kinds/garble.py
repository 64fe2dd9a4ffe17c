"""The fault `garble` changes bytes of the answer, so that the client cannot read it, or reads it wrongly."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta

from ..actions import Piece, Write
from ..kind import Fault, FaultDice, Target

BODY_AT = 8
"""The offset of the body, after the length and the correlation id. A client that finds neither the frame nor its request never looks at
the body."""


class Garble(Fault, tag="garble", frozen=True, kw_only=True):
    """Change bytes of the answer after its correlation id, but not its length. The seed decides which bytes."""

    bytes: Annotated[int, Meta(ge=1, le=1_048_576, description="how many bytes at most")] = 1
    at: Annotated[int | None, Meta(description="from this byte of the frame on (its length is 0 to 3); default: anywhere")] = None

    def act(self, target: Target) -> Write:
        return Write(partial(_spoil, self.bytes, self.at, target.dice))


def _spoil(count: int, at: int | None, dice: FaultDice, frame: bytes) -> list[Piece]:
    changed = bytearray(frame)
    # An `at` behind the end of a short answer changes its last byte, because a rule that counts as fired must do something.
    first = BODY_AT if at is None else min(max(at, 0), len(frame) - 1)
    places = [first + place for place in range(count)] if at is not None else [first + dice.below(len(frame) - first) for _ in range(count)]
    # An offset that was drawn twice is changed once, because two changes could undo each other.
    for place in dict.fromkeys(places):
        if place < len(frame):
            # The byte is XORed with 1 to 255, because with 0 it would stay unchanged and the rule would do nothing.
            changed[place] ^= 1 + dice.below(255)
    return [Piece(bytes(changed))]


KIND = Garble
