"""The fault `wrong_correlation_id` gives the answer another correlation id than its request has, so the client did not ask for it."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta

from ..actions import Piece, Write
from ..kind import Fault, Target

ID = slice(4, 8)


class WrongCorrelationId(Fault, tag="wrong_correlation_id", frozen=True, kw_only=True):
    """Answer with another correlation id than that of the request."""

    by: Annotated[int, Meta(description="what is added to the right one")] = 1

    def act(self, target: Target) -> Write:
        return Write(partial(_moved, self.by))


def _moved(by: int, frame: bytes) -> list[Piece]:
    # The id is an int32 that the client counts up, so at its end a sum without the modulus would not fit into four bytes.
    wrong = (int.from_bytes(frame[ID], "big") + by) % (1 << 32)
    return [Piece(frame[:4] + wrong.to_bytes(4, "big") + frame[8:])]


KIND = WrongCorrelationId
