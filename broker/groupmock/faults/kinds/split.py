"""The fault `split` sends the answer in pieces with pauses between them."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Annotated

from msgspec import Meta

from groupmock_codec.units import NS_PER_S

from ..actions import Piece, Write
from ..kind import Fault, Target


class Split(Fault, tag="split", frozen=True, kw_only=True):
    """Send the answer in pieces with pauses between them. The next request is served after the last piece."""

    pieces: Annotated[int, Meta(ge=2, le=10_000, description="how many (one byte each at most)")] = 2
    seconds: Annotated[float, Meta(gt=0, le=3600, description="pause between two of them")]

    def act(self, target: Target) -> Write:
        return Write(partial(_pieces, self.pieces, int(self.seconds * NS_PER_S)))


def _pieces(count: int, pause: int, frame: bytes) -> list[Piece]:
    # The answer is cut into at most as many pieces as it has bytes, because no client can see the pause after an empty piece.
    count = min(count, len(frame))
    edges = [len(frame) * place // count for place in range(count + 1)]
    return [Piece(frame[low:high], pause if low else 0) for low, high in pairwise(edges)]


KIND = Split
