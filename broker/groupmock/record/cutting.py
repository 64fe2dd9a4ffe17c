"""Finds where frames begin and end in bytes that pass by, and keeps back only the frames that must be complete to be changed. No sockets
here.

A request's first eight bytes say whether its answer will be needed, and then its correlation id is remembered. In the other direction a
frame with such an id goes to the code that needs it. All other bytes are passed on at once, in pieces as they came.

Memory is bounded. `Held` counts the bytes of unfinished frames of all connections, in both directions. If a frame is too long or there is
no room for it, the recording keeps only its head (`Frames`). An answer in which addresses are replaced has to be kept whole, so one that
does not fit is refused (`Refused`).
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Protocol

from groupmock_codec.frame import FrameError

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD: Final = 12  # The bytes of a request's length, API key, version and correlation id.
ANSWER_HEAD: Final = 8  # The bytes of an answer's length and correlation id.
MOST_AWAITED: Final = 10_000
"""The most requests of one connection that wait for an answer that has to be read. If a peer sends more without an answer, the oldest
answer passes unchanged."""
MOST_READ: Final = 16 * 1024 * 1024
"""Longer frames are not decoded, because copying, decoding and digesting one would pause the loop for more than 50 ms."""
KEPT_BYTES: Final = 40_000
"""The number of bytes kept of a frame that is too long to be decoded: enough for the header with the longest client id."""
_length = Struct(">i").unpack_from


class Refused(Exception):
    """Raised if an answer must be kept back but takes too many bytes; the text says how many."""


class Held:
    """Counts the bytes of unfinished frames in all connections, in both directions. Above `most` no further ones are kept."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.bytes = 0

    @property
    def full(self) -> bool:
        """Return whether the limit of kept bytes is reached."""
        return self.bytes > self.most

    @property
    def refusal(self) -> str:
        """Return the reason for not keeping an answer back."""
        return f"the connection would keep back an answer while unfinished frames of all connections have more than {self.most} bytes"


class Requests:
    """Cuts the bytes that a client sends into requests. `noticed(start, correlation)` is called for each frame whose key is in
    `watched`, with key and version, and correlation id."""

    __slots__ = ("_head", "_left", "limit", "noticed", "watched")

    def __init__(self, limit: int, watched: frozenset[int], noticed: Callable[[bytes, bytes], None]) -> None:
        self.limit = limit
        self.watched = watched
        self.noticed = noticed
        self._left = 0  # Bytes of the current frame that have not arrived.
        self._head = b""  # The first bytes of a frame that arrived in parts.

    def look(self, data: bytes, at: int = 0, most: int = MOST_AWAITED) -> tuple[int, int]:
        """Return the end of the bytes that belong to at most `most` valid frames begun at `at`, or to a frame begun earlier, and the
        number of frames that began here. If that number is less than `most` and bytes are left, a frame follows whose length is none
        (`refusal`)."""
        size = len(data)
        # A read that holds exactly one frame, the usual case, is handled first.
        if not (self._left or self._head or at) and most and size >= HEAD and _length(data)[0] == size - 4 <= self.limit:
            if data[4] << 8 | data[5] in self.watched:
                self.noticed(data[4:8], data[8:HEAD])
            return size, 1
        return self._walk(data, at, most)

    def refusal(self, data: bytes) -> FrameError:
        """Return why the frame that begins after the bytes accepted by `look` is invalid."""
        return FrameError(_length(self._head + data[: 4 - len(self._head)])[0], self.limit)

    def _walk(self, data: bytes, at: int, most: int) -> tuple[int, int]:
        size, begun = len(data), 0
        while at < size:
            if self._left:
                step = min(self._left, size - at)
                self._left -= step
                at += step
                continue
            if begun == most and not self._head:
                break
            head = self._head + data[at : at + HEAD - len(self._head)]
            if len(head) < 4:
                self._head = head
                return size, begun
            length = _length(head)[0]
            if not 0 <= length <= self.limit:
                break
            wanted = min(HEAD, 4 + length)
            taken = min(len(head), wanted) - len(self._head)
            at += taken
            if len(head) < wanted:
                self._head = head
                return size, begun
            self._head, self._left = b"", 4 + length - wanted
            begun += 1
            if wanted == HEAD and head[4] << 8 | head[5] in self.watched:
                self.noticed(head[4:8], head[8:HEAD])
        return at, begun


class Taker(Protocol):
    """Receives the bytes of an answer that has to be read or changed on its way."""

    def feed(self, data: bytes) -> None:
        """Process the next bytes of the answer, beginning with its length."""

    def end(self) -> None:
        """Note that all bytes of the answer have arrived."""

    def drop(self) -> None:
        """Give the answer up, because the rest of it will not arrive."""


class Collected:
    """Collects the bytes of one answer and passes the complete frame to `whole(frame)`, without its length."""

    __slots__ = ("_frame", "_held", "_whole")

    def __init__(self, whole: Callable[[bytes], None], size: int, held: Held) -> None:
        """Begin to collect an answer. `size` is that of the answer with its length. Raises Refused."""
        if size - 4 > MOST_READ:
            raise Refused(f"an answer in which addresses are replaced has {size - 4} bytes, and at most {MOST_READ} are read")
        self._whole = whole
        self._frame = bytearray()
        self._held = held

    def feed(self, data: bytes) -> None:
        """Keep the next bytes of the answer. Raises Refused if unfinished frames have too many bytes."""
        self._frame += data
        self._held.bytes += len(data)
        if self._held.full:
            raise Refused(self._held.refusal)

    def end(self) -> None:
        """Pass the complete answer to `whole`."""
        frame = bytes(memoryview(self._frame)[4:])
        self.drop()
        self._whole(frame)

    def drop(self) -> None:
        """Release the bytes that were kept."""
        self._held.bytes -= len(self._frame)
        self._frame = bytearray()


class Answers:
    """Cuts the bytes that a node sends into answers. `awaited` maps correlation ids of the needed answers to a value of the caller's.
    `passes(data)` is called with bytes that pass. When an awaited answer begins, `taker(what, size)` is called with its size in bytes, and
    returns the taker that gets the bytes in order, or None to let them pass."""

    __slots__ = ("_held", "_left", "_taker", "awaited", "limit", "passes", "taker")

    def __init__(self, limit: int, passes: Callable[[bytes], None], taker: Callable[[Any, int], Taker | None]) -> None:
        self.limit = limit
        self.awaited: dict[bytes, object] = {}
        self.passes = passes
        self.taker = taker
        self._left = 0  # Bytes of the current frame that have not arrived.
        self._held = b""  # The first bytes of a frame that arrived in parts.
        self._taker: Taker | None = None  # The function that gets the bytes of the current frame, or None if nobody wants them.

    @property
    def between(self) -> bool:
        """Return whether the next byte begins a frame and no awaited answer is due."""
        return not (self._left or self._held or self.awaited)

    def wait_for(self, correlation: bytes, what: object) -> None:
        """Note that the answer with this correlation id has to be read."""
        if len(self.awaited) >= MOST_AWAITED:
            del self.awaited[next(iter(self.awaited))]
        self.awaited[correlation] = what

    def feed(self, data: bytes, at: int = 0) -> tuple[bytes, int]:
        """Handle the bytes that arrived, from offset `at` on, and return the unhandled bytes with their offset. Return what is left of
        them, and where it begins: the end of an awaited answer ends the call, because what its taker does with it takes time. Raises
        FrameError for a length that no answer has, and Refused; what is before that was handed on."""
        size = len(data)
        if not (self.awaited or self._left or self._held or at) and size >= 4 and _length(data)[0] == size - 4 <= self.limit:
            self.passes(data)
            return data, size
        if self._held:
            data, at, self._held = self._held + data[at:], 0, b""
        return data, self._walk(data, at)

    def drop(self) -> None:
        """Drop the kept bytes, because no more will arrive."""
        if self._taker is not None:
            self._taker.drop()
            self._taker = None

    def _walk(self, data: bytes, at: int) -> int:
        begin = at  # Bytes between two awaited answers pass unchanged.
        size = len(data)
        while at < size:
            if self._left:
                step = min(self._left, size - at)
                self._left -= step
                at += step
                if self._taker is not None:
                    taker, begin = self._taker, at
                    taker.feed(data[at - step : at])
                    if not self._left:
                        self._taker = None
                        taker.end()
                        return at
                continue
            if size - at < 4:
                break
            length = _length(data, at)[0]
            if not 0 <= length <= self.limit:
                self._pass(data, begin, at)
                raise FrameError(length, self.limit)
            if self.awaited and length >= 4:
                if size - at < ANSWER_HEAD:
                    break
                if (identifier := data[at + 4 : at + ANSWER_HEAD]) in self.awaited:
                    self._pass(data, begin, at)
                    begin = at
                    self._taker = self.taker(self.awaited.pop(identifier), 4 + length)
            self._left = 4 + length
        self._pass(data, begin, at)
        self._held = data[at:]
        return size

    def _pass(self, data: bytes, begin: int, end: int) -> None:
        if begin < end:
            self.passes(data if end - begin == len(data) else data[begin:end])


class Frames:
    """Cuts the bytes of one direction into frames, which are recorded one by one. `size` is that of the last frame that `next` returned;
    it is more than the bytes returned if only the head of a frame was kept."""

    __slots__ = ("_frame", "_head", "_held", "_keep", "_left", "most", "size")

    def __init__(self, held: Held, most: int) -> None:
        self.most = most
        self.size = 0
        self._held = held
        self._head = b""  # The first of the four length bytes, if they arrived in parts.
        self._frame: bytearray | None = None  # The bytes of the current frame that were kept so far.
        self._left = 0  # Bytes of the current frame that have not arrived.
        self._keep = 0  # The number of bytes of the current frame that are to be kept.

    @property
    def cut_bytes(self) -> int:
        """Return the number of bytes that have arrived of an incomplete frame."""
        return len(self._head) if self._frame is None else 4 + self.size - self._left

    def next(self, data: bytes, at: int) -> tuple[bytes | None, int]:
        """Return one frame of `data`, which begins at offset `at`, and the offset behind the frame. The frame is None if `data` ends in
        its middle."""
        if self._frame is None:
            size = len(data)
            if not self._head and size - at >= 4 and (end := at + 4 + _length(data, at)[0]) <= size:
                self.size = end - at - 4
                return data[at + 4 : end], end
            begin, at = at, min(size, at + 4 - len(self._head))
            self._head += data[begin:at]
            if len(self._head) < 4:
                return None, at
            self.size = self._left = _length(self._head)[0]
            self._keep = self.size if self.size <= self.most else KEPT_BYTES
            self._head, self._frame = b"", bytearray()
        return self._rest(self._frame, data, at)

    def drop(self) -> None:
        """Drop the bytes of an unfinished frame."""
        if self._frame is not None:
            self._held.bytes -= len(self._frame)
            self._frame = None

    def _rest(self, frame: bytearray, data: bytes, at: int) -> tuple[bytes | None, int]:
        step = min(self._left, len(data) - at)
        kept = len(frame)
        frame += data[at : at + min(step, self._keep - kept)]
        self._held.bytes += len(frame) - kept
        self._left -= step
        if not self._left:
            self.drop()
            return bytes(frame), at + step
        if self._held.full and self._keep > KEPT_BYTES:
            self._keep = KEPT_BYTES
            self._held.bytes -= max(len(frame) - KEPT_BYTES, 0)
            del frame[KEPT_BYTES:]
        return None, at + step
