"""The framer cuts length-prefixed frames from a byte stream, and refuses a bad length as soon as its four bytes have arrived."""

from __future__ import annotations

from io import BytesIO
from struct import Struct
from typing import Final

SOCKET_REQUEST_MAX_BYTES: Final = 104_857_600
_read_length = Struct(">i").unpack_from


class FrameError(ValueError):
    """The length of a frame is negative or above the limit, for which Kafka closes the connection at once. `length` is the value read."""

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(f"frame length {length} is outside 0..{limit} (socket.request.max.bytes)")
        self.length, self.limit = length, limit

    def __reduce__(self) -> tuple[type[FrameError], tuple[int, int]]:
        return type(self), (self.length, self.limit)


class Framer:
    """Cuts the frames from one stream, without their four length bytes.

    Good frames before a bad length in the same read are still returned: the error is raised by the next `feed`, or is found at once in
    `broken`. An incomplete frame grows in one buffer, so that many small reads or a slow frame of 100 MB are cheap. BytesIO returns its
    buffer as the frame without a copy: copying 63 MB takes 30 ms and as much memory again."""

    __slots__ = ("_body", "_head", "_missing", "broken", "limit")

    def __init__(self, limit: int = SOCKET_REQUEST_MAX_BYTES) -> None:
        self.limit = limit
        self.broken: FrameError | None = None
        self._head = b""  # `_head` has the bytes of the frame's length, while some of them are missing.
        self._body: BytesIO | None = None
        self._missing = 0  # `_missing` counts the missing bytes of the length, or those of the body once the length is complete.

    @property
    def buffered(self) -> int:
        """Return the number of bytes kept of an incomplete frame."""
        return len(self._head) if self._body is None else 4 + self._body.tell()

    def feed(self, data: bytes) -> list[bytes]:
        """Return the frames that `data` completes, in order. Raises FrameError for a bad length without a good frame before it."""
        size = len(data)
        if not self.buffered and not self.broken and size >= 4 and _read_length(data)[0] == size - 4 <= self.limit:
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
        """Return the first frame of `data` from offset `at` on, and the offset after it. The frame is None if `data` ends within it, and
        its bytes are kept. Many small frames of one read thus become objects only when they are needed. Raises FrameError."""
        if self.broken:
            raise self.broken
        if self._head or self._body is not None:
            return self._rest(data, at)
        size = len(data)
        if size - at < 4:
            self._head, self._missing = data[at:], 4 - (size - at)
            return None, size
        end = at + 4 + self._length(data, at)
        if end > size:
            self._missing = end - at - 4
            self._body = BytesIO()
            return self._fill(data, at + 4)
        return data[at + 4 : end], end

    def _length(self, data: bytes, at: int) -> int:
        length: int = _read_length(data, at)[0]
        if not 0 <= length <= self.limit:
            self.broken = FrameError(length, self.limit)
            raise self.broken
        return length

    def _rest(self, data: bytes, at: int) -> tuple[bytes | None, int]:
        """Continue an incomplete frame with `data`: first its length, then the rest of its body."""
        if self._body is None:
            end = min(at + self._missing, len(data))
            self._head += data[at:end]
            self._missing -= end - at
            at = end
            if self._missing:
                return None, at
            length, self._head = self._length(self._head, 0), b""
            if at + length <= len(data):
                return data[at : at + length], at + length
            self._missing, self._body = length, BytesIO()
        return self._fill(data, at)

    def _fill(self, data: bytes, at: int) -> tuple[bytes | None, int]:
        """Continue the body of an incomplete frame with `data`."""
        assert self._body is not None
        end = min(at + self._missing, len(data))
        self._body.write(memoryview(data)[at:end])
        self._missing -= end - at
        if self._missing:
            return None, end
        frame, self._body = self._body.getvalue(), None
        return frame, end
