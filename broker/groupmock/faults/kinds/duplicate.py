"""Twice."""

from __future__ import annotations

from ..actions import Piece, Write
from ..kind import Call, Fault


class Duplicate(Fault, tag="duplicate", frozen=True, kw_only=True):
    """The answer goes out twice, at once."""

    def act(self, call: Call) -> Write:
        """Two of it."""
        return Write(lambda frame: [Piece(frame + frame)])


KIND = Duplicate
