"""Bytes of one connection that are no request yet: kept as they came, cut into frames one by one when their turn comes. No input and
output of its own.

A quarter of a megabyte in one read may be 65,000 empty frames. Cut at once they would cost the others 30 ms; cut when somebody asks for the
next one they cost what is asked for.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from groupmock_codec.frame import Framer

CHUNK_OVERHEAD: Final = 128
"""What a waiting piece costs beyond its bytes; counted, so that a megabyte sent byte by byte is no hundred megabytes here."""


class Inbox:
    """In order: the bytes of a cut frame in `_framer`, then `_chunks`, of the first of which `_at` bytes are dealt with.

    `waiting`: bytes of the chunks, with what each costs. A connection has an inbox only while there is something in it.
    """

    __slots__ = ("_at", "_chunks", "_framer", "waiting")

    def __init__(self, limit: int) -> None:
        self._framer = Framer(limit)
        self._chunks: deque[tuple[int, bytes]] = deque()
        self._at = 0
        self.waiting = 0

    @property
    def empty(self) -> bool:
        """Is there nothing in it?"""
        return not self._chunks and not self._framer.buffered

    @property
    def cut_bytes(self) -> int:
        """Bytes that have come of a frame whose rest has not."""
        return self._framer.buffered

    def keep(self, data: bytes, received: int) -> None:
        """Bytes that came at `received`."""
        self._chunks.append((received, data))
        self.waiting += len(data) + CHUNK_OVERHEAD

    def pop(self) -> tuple[int, bytes] | None:
        """The next whole frame, with the time its last byte came. None: there is none (yet). Raises FrameError for a bad length."""
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
