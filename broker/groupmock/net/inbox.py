"""The inbox keeps the received bytes of one connection that are not handled yet, and cuts them into frames one at a time. There is no
IO here.

One read of a quarter of a megabyte may hold 65,000 empty frames. Cutting all of them at once would delay other connections by 30 ms, so
frames are cut only on demand.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from groupmock_codec.frame import Framer

CHUNK_OVERHEAD: Final = 128
"""The extra bytes that a waiting piece counts with, because a megabyte that arrives byte by byte takes far more memory."""


class Inbox:
    """The bytes of a connection in order: first an incomplete frame in `_framer`, then the pieces in `_chunks`, of whose first piece `_at`
    bytes are handled. `waiting` counts the bytes of the chunks plus an overhead for each. A connection has an inbox only while it is not
    empty."""

    __slots__ = ("_at", "_chunks", "_framer", "waiting")

    def __init__(self, limit: int) -> None:
        self._framer = Framer(limit)
        self._chunks: deque[tuple[int, bytes]] = deque()
        self._at = 0
        self.waiting = 0

    @property
    def empty(self) -> bool:
        return not self._chunks and not self._framer.buffered

    @property
    def cut_bytes(self) -> int:
        """The number of bytes of an incomplete frame."""
        return self._framer.buffered

    def allow(self, limit: int) -> None:
        """Set the largest frame that is accepted from now on."""
        self._framer.limit = limit

    def keep(self, data: bytes, received: int) -> None:
        """Keep bytes that arrived at run time `received`."""
        self._chunks.append((received, data))
        self.waiting += len(data) + CHUNK_OVERHEAD

    def pop(self) -> tuple[int, bytes] | None:
        """Return the next whole frame and the arrival time of its last byte, or None if no frame is complete. Raises FrameError for a
        bad length."""
        while self._chunks:
            received, chunk = self._chunks[0]
            begin = self._at
            frame, self._at = self._framer.next(chunk, begin)
            self.waiting -= self._at - begin
            if self._at == len(chunk):
                self._chunks.popleft()
                self._at = 0
                self.waiting -= CHUNK_OVERHEAD
            if frame is not None:
                return received, frame
        return None
