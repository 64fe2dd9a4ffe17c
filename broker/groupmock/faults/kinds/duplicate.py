"""The fault `duplicate` sends the answer twice, so the client gets one with a correlation id that is done."""

from __future__ import annotations

from ..actions import Piece, Write
from ..kind import Fault, Target


class Duplicate(Fault, tag="duplicate", frozen=True, kw_only=True):
    """Send the answer twice, one right after the other."""

    def act(self, target: Target) -> Write:
        return Write(lambda frame: [Piece(frame + frame)])


KIND = Duplicate
