"""Find where frames begin and end in bytes that are passed on as they come: only what must be seen whole is kept back. No sockets here.

A request's first eight bytes say whether its answer is to be looked at: its correlation id is remembered. In the other direction a frame
with such an id is given to whoever looks at it, everything else is handed on at once, in pieces as they came.

Memory is bounded. `Held` counts the bytes of unfinished frames of all connections, in both directions. The recording keeps of a frame that
is too long, or for which there is no room left, only its head (`Frames`). An answer in which addresses are replaced has to be kept whole,
so one that does not fit is refused (`Refused`).
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Protocol

from groupmock_codec.frame import FrameError

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD: Final = 12  # Length, key, version, correlation id
ANSWER_HEAD: Final = 8  # Length, correlation id
MOST_AWAITED: Final = 10_000
"""The most requests whose answer is to be looked at; if a peer sends more without an answer, the oldest passes unchanged."""
MOST_READ: Final = 16 * 1024 * 1024
"""The longest frame that is decoded: copying, decoding and digesting a longer one would pause the loop for more than 50 ms."""
KEPT_BYTES: Final = 40_000
"""The kept bytes of a longer frame: its header with the longest client id."""
_length = Struct(">i").unpack_from


class Refused(Exception):
    """An answer cannot be kept as long as would be needed; the text says why."""


class Held:
    """The bytes of unfinished frames in all connections, in both directions. Above `most` no further ones are kept."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.bytes = 0

    @property
    def full(self) -> bool:
        """Return whether there is no room for more."""
        return self.bytes > self.most

    @property
    def refusal(self) -> str:
        """Return why something is not kept."""
        return f"the connection would keep back an answer while unfinished frames of all connections have more than {self.most} bytes"


class Requests:
    """The bytes that a client sends. `noticed(start, correlation)` is called for each frame whose key is in `watched`, with key and
    version, and correlation id."""

    __slots__ = ("_head", "_left", "limit", "noticed", "watched")

    def __init__(self, limit: int, watched: frozenset[int], noticed: Callable[[bytes, bytes], None]) -> None:
        self.limit = limit
        self.watched = watched
        self.noticed = noticed
        self._left = 0  # Bytes of the frame that are still to come
        self._head = b""  # The first bytes of a frame that arrived in parts

    def look(self, data: bytes, at: int = 0, most: int = MOST_AWAITED) -> tuple[int, int]:
        """Return the end of the bytes from `at` on that belong to at most so many good frames and to one that began before, and the number
        of frames that began there. If that number is less than `most` and bytes are left, a frame follows whose length is none
        (`refusal`)."""
        size = len(data)
        # The usual case is one read with one whole frame
        if not (self._left or self._head or at) and most and size >= HEAD and _length(data)[0] == size - 4 <= self.limit:
            if data[4] << 8 | data[5] in self.watched:
                self.noticed(data[4:8], data[8:HEAD])
            return size, 1
        return self._walk(data, at, most)

    def refusal(self, data: bytes) -> FrameError:
        """Return why the frame that begins here (behind what `look` reported) is invalid."""
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
    """Takes the bytes of one answer."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes of it, its length among them."""

    def end(self) -> None:
        """Note that all of it has arrived."""

    def drop(self) -> None:
        """Note that the rest will not come."""


class Collected:
    """An answer that is looked at when it is whole: `whole(frame)`, without its length."""

    __slots__ = ("_frame", "_held", "_whole")

    def __init__(self, whole: Callable[[bytes], None], size: int, held: Held) -> None:
        """Begin to collect an answer. `size` is that of the answer with its length. Raises Refused."""
        if size - 4 > MOST_READ:
            raise Refused(f"an answer in which addresses are replaced has {size - 4} bytes, and at most {MOST_READ} are read")
        self._whole = whole
        self._frame = bytearray()
        self._held = held

    def feed(self, data: bytes) -> None:
        """Keep the bytes that come next. Raises Refused if too much is held."""
        self._frame += data
        self._held.bytes += len(data)
        if self._held.full:
            raise Refused(self._held.refusal)

    def end(self) -> None:
        """Pass the whole answer on."""
        frame = bytes(memoryview(self._frame)[4:])
        self.drop()
        self._whole(frame)

    def drop(self) -> None:
        """Let go of what was kept."""
        self._held.bytes -= len(self._frame)
        self._frame = bytearray()


class Answers:
    """The bytes that a node sends. `awaited` maps correlation ids of the answers to look at to a value of the caller's. `passes(data)`
    is called with bytes that pass. Where an awaited answer begins, `taker(what, size)` is called with its size in bytes: the bytes go to
    the taker that it returns, in the same order, or pass if it returns None."""

    __slots__ = ("_held", "_left", "_taker", "awaited", "limit", "passes", "taker")

    def __init__(self, limit: int, passes: Callable[[bytes], None], taker: Callable[[Any, int], Taker | None]) -> None:
        self.limit = limit
        self.awaited: dict[bytes, object] = {}
        self.passes = passes
        self.taker = taker
        self._left = 0  # Bytes of the frame that are still to come
        self._held = b""  # The first bytes of a frame that arrived in parts
        self._taker: Taker | None = None  # The taker of the frame under way

    @property
    def between(self) -> bool:
        """Return whether a frame begins with the next byte, and none is awaited."""
        return not (self._left or self._held or self.awaited)

    def wait_for(self, correlation: bytes, what: object) -> None:
        """Note that the answer with this id is to be looked at."""
        if len(self.awaited) >= MOST_AWAITED:
            del self.awaited[next(iter(self.awaited))]
        self.awaited[correlation] = what

    def feed(self, data: bytes, at: int = 0) -> tuple[bytes, int]:
        """Deal with bytes that came, from `at` on. Return what is left of them, and where it begins: the end of an awaited answer ends the
        call, because what its taker does with it takes time. Raises FrameError for a length that no answer has, and Refused; what is before
        that was handed on."""
        size = len(data)
        if not (self.awaited or self._left or self._held or at) and size >= 4 and _length(data)[0] == size - 4 <= self.limit:
            self.passes(data)
            return data, size
        if self._held:
            data, at, self._held = self._held + data[at:], 0, b""
        return data, self._walk(data, at)

    def drop(self) -> None:
        """Drop what was kept, because no more will come."""
        if self._taker is not None:
            self._taker.drop()
            self._taker = None

    def _walk(self, data: bytes, at: int) -> int:
        begin = at  # what lies between them passes
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
    """The frames of one direction, one by one, as the recording reads them. `size` is that of the last frame that `next` returned; it is
    more than the bytes returned if only the head of a frame was kept."""

    __slots__ = ("_frame", "_head", "_held", "_keep", "_left", "most", "size")

    def __init__(self, held: Held, most: int) -> None:
        self.most = most
        self.size = 0
        self._held = held
        self._head = b""  # The first of the four bytes of a length that arrived in parts
        self._frame: bytearray | None = None  # The kept part of the frame under way
        self._left = 0  # Bytes of it that are still to come
        self._keep = 0  # Bytes of it that are kept

    @property
    def cut_bytes(self) -> int:
        """Return the bytes that have arrived of an incomplete frame."""
        return len(self._head) if self._frame is None else 4 + self.size - self._left

    def next(self, data: bytes, at: int) -> tuple[bytes | None, int]:
        """Return one frame of `data` from offset `at` on, and where the rest begins. None: `data` ends in the middle of a frame."""
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
        """Let go of an unfinished frame."""
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
