"""Bytes of one connection that are no request yet: cut into frames, or kept until their turn comes. No input and output of its own."""

from __future__ import annotations

from collections import deque
from typing import Final

from groupmock_codec.frame import FrameError, Framer

CHUNK_OVERHEAD: Final = 128
"""What a waiting piece costs beyond its bytes; counted, so that a megabyte sent byte by byte is no hundred megabytes here."""


class Inbox:
    """In order: `_frames`, whole; the bytes of a cut one in `_framer`; `_chunks`, which are cut when all before them was handled.

    `waiting`: bytes of frames and chunks, with what each costs. A connection has an inbox only while one of them holds something.
    """

    __slots__ = ("_chunks", "_framer", "_frames", "_limit", "waiting")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._framer: Framer | None = None
        self._frames: deque[tuple[int, bytes]] | None = None
        self._chunks: deque[tuple[int, bytes]] | None = None
        self.waiting = 0

    @property
    def empty(self) -> bool:
        """Is there nothing in it?"""
        return not self.waiting and self._framer is None

    @property
    def cut_bytes(self) -> int:
        """Bytes that have come of a frame whose rest has not."""
        return self._framer.buffered if self._framer is not None else 0

    def cut(self, data: bytes, received: int) -> None:
        """Frames out of bytes, at once: nothing waits before them. A bad length is found when the frames before it were popped."""
        framer = self._framer
        if framer is None:
            framer = self._framer = Framer(self._limit)
        try:
            frames = framer.feed(data)
        except FrameError:
            return
        if not framer.buffered and framer.broken is None:
            self._framer = None
        if frames:
            if self._frames is None:
                self._frames = deque()
            self._frames.extend((received, frame) for frame in frames)
            self.waiting += sum(map(len, frames)) + CHUNK_OVERHEAD * len(frames)

    def keep(self, data: bytes, received: int) -> None:
        """Bytes that others wait before."""
        if self._chunks is None:
            self._chunks = deque()
        self._chunks.append((received, data))
        self.waiting += len(data) + CHUNK_OVERHEAD

    def pop(self) -> tuple[int, bytes] | None:
        """The next whole frame, with the time its last byte came. None: there is none (yet). Raises FrameError for a bad length."""
        while True:
            if self._frames:
                received, frame = self._frames.popleft()
                self.waiting -= len(frame) + CHUNK_OVERHEAD
                return received, frame
            if self._framer is not None and self._framer.broken is not None:
                raise self._framer.broken
            if not self._chunks:
                return None
            received, chunk = self._chunks.popleft()
            self.waiting -= len(chunk) + CHUNK_OVERHEAD
            self.cut(chunk, received)
