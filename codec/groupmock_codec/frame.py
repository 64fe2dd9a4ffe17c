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
        if not self._held and not self.broken:
            size = len(data)
            if size >= 4 and _read_length(data)[0] == size - 4 <= self.limit:
                return [data[4:]]
        return self._slow(data)

    def _slow(self, data: bytes) -> list[bytes]:
        if self.broken:
            raise self.broken
        if self._held:
            self._held += data
            self._missing -= len(data)
            if self._missing > 0:
                return []
            data, self._held = bytes(self._held), bytearray()
        return self._cut(data)

    def _cut(self, data: bytes) -> list[bytes]:
        frames: list[bytes] = []
        at, size, limit = 0, len(data), self.limit
        while size - at >= 4:
            (length,) = _read_length(data, at)
            if not 0 <= length <= limit:
                self.broken = FrameError(length, limit)
                if frames:
                    return frames
                raise self.broken
            end = at + 4 + length
            if end > size:
                self._keep(data[at:], end - size)
                return frames
            frames.append(data[at + 4 : end])
            at = end
        if at < size:
            self._keep(data[at:], 4 - (size - at))
        return frames

    def _keep(self, rest: bytes, missing: int) -> None:
        self._held += rest
        self._missing = missing
