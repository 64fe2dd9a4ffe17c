"""Length-prefixed frames out of a byte stream, refused as soon as their four length bytes are there."""

from __future__ import annotations

from struct import Struct
from typing import Final

SOCKET_REQUEST_MAX_BYTES: Final = 104_857_600
_read_length = Struct(">i").unpack_from


class FrameError(ValueError):
    """The length of a frame is negative or above the limit: Kafka closes such a connection at once. `length` is what was read."""

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(f"frame length {length} is outside 0..{limit} (socket.request.max.bytes)")
        self.length, self.limit = length, limit

    def __reduce__(self) -> tuple[type[FrameError], tuple[int, int]]:
        return type(self), (self.length, self.limit)


class Framer:
    """Cuts a stream into frames; the four length bytes are not part of them.

    Good frames before a bad length in the same read are still given: the error is raised by the next `feed`, or found at once
    in `broken`. A frame that is still incomplete grows in one buffer: neither many small reads nor a slow 100 MB frame hurt.
    """

    __slots__ = ("_held", "_missing", "broken", "limit")

    def __init__(self, limit: int = SOCKET_REQUEST_MAX_BYTES) -> None:
        self.limit = limit
        self.broken: FrameError | None = None
        self._held = bytearray()
        self._missing = 0

    @property
    def buffered(self) -> int:
        """Bytes held of a frame that is not complete."""
        return len(self._held)

    def feed(self, data: bytes) -> list[bytes]:
        """The frames that `data` completes, in order. Raises FrameError for a bad length with no good frame before it."""
        size = len(data)
        if not self._held and not self.broken and size >= 4 and _read_length(data)[0] == size - 4 <= self.limit:
            return [data[4:]]
        frames: list[bytes] = []
        at = 0
        while at < size or self.broken:
            try:
                frame, at = self.next(data, at)
            except FrameError:
                if frames:
                    return frames
                raise
            if frame is not None:
                frames.append(frame)
        return frames

    def next(self, data: bytes, at: int) -> tuple[bytes | None, int]:
        """One frame of `data` from offset `at` on, and where the rest begins. None: `data` ends in the midst of a frame, which is held.

        So that many small frames in one read need not become many objects before somebody has a use for them. Raises FrameError.
        """
        if self.broken:
            raise self.broken
        if self._held:
            return self._rest(data, at)
        size = len(data)
        if size - at < 4:
            return self._keep(data, at, 4 - (size - at))
        end = at + 4 + self._length(data, at)
        if end > size:
            return self._keep(data, at, end - size)
        return data[at + 4 : end], end

    def _length(self, data: bytes | bytearray, at: int) -> int:
        length: int = _read_length(data, at)[0]
        if not 0 <= length <= self.limit:
            self.broken = FrameError(length, self.limit)
            raise self.broken
        return length

    def _keep(self, data: bytes, at: int, missing: int) -> tuple[None, int]:
        self._held += data[at:]
        self._missing = missing
        return None, len(data)

    def _rest(self, data: bytes, at: int) -> tuple[bytes | None, int]:
        """What is held goes on with `data`: first its length, then the rest of the frame."""
        held = self._held
        while True:
            end = min(at + self._missing, len(data))
            held += data[at:end]
            self._missing -= end - at
            at = end
            if self._missing:
                return None, at
            if len(held) > 4 or not (missing := self._length(held, 0)):
                self._held = bytearray()
                return bytes(memoryview(held)[4:]), at
            self._missing = missing
