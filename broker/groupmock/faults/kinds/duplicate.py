"""Twice."""

from __future__ import annotations

from ..actions import Piece, Write
from ..kind import Fault, Target


class Duplicate(Fault, tag="duplicate", frozen=True, kw_only=True):
    """The answer goes out twice, at once."""

    def act(self, target: Target) -> Write:
        """Two of it."""
        return Write(lambda frame: [Piece(frame + frame)])


KIND = Duplicate
