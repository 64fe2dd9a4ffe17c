"""The fault `truncate` sends only the first bytes of the answer, so that the client sees an incomplete frame."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta

from ..actions import Piece, Write
from ..kind import Fault, Target


class Truncate(Fault, tag="truncate", frozen=True, kw_only=True):
    """Send only the first bytes of the answer's frame, then FIN, or with `close = false` nothing more at all. The request was applied."""

    at: Annotated[int, Meta(ge=0, description="so many bytes go out, the frame's length (4 bytes) among them")]
    close: Annotated[bool, Meta(description="close behind them")] = True

    def act(self, target: Target) -> Write:
        return Write(partial(_cut, self.at), then_close=self.close, then_mute=not self.close)


def _cut(at: int, frame: bytes) -> list[Piece]:
    """Cut the frame, at least by one byte, because a whole frame would be no fault."""
    return [Piece(frame[: min(at, len(frame) - 1)])]


KIND = Truncate
