"""The answer goes out twice: the client sees a second answer with a correlation id that it has finished with."""

from __future__ import annotations

from ..actions import Piece, Write
from ..kind import Fault, Target


class Duplicate(Fault, tag="duplicate", frozen=True, kw_only=True):
    """The answer goes out twice, at once."""

    def act(self, target: Target) -> Write:
        """Send the answer, then the same bytes again."""
        return Write(lambda frame: [Piece(frame + frame)])


KIND = Duplicate
