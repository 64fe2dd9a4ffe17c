"""Where frames begin and end in bytes that are passed on as they come: only what must be seen whole is kept back. No sockets here.

A request's first eight bytes say whether its answer is to be looked at: its correlation id is remembered. In the other direction a frame
with such an id is given to whoever looks at it, everything else is handed on at once, in pieces as they came.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Protocol

from groupmock_codec.frame import FrameError

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD: Final = 12  # length, key, version, correlation id
ANSWER_HEAD: Final = 8  # length, correlation id
MOST_AWAITED: Final = 10_000
"""Requests whose answer is to be looked at; of a peer that sends more without an answer the oldest passes unchanged."""
_length = Struct(">i").unpack_from


class Requests:
    """Bytes of a client. `noticed(start, correlation)` is told of each frame whose key is in `watched`: key and version, correlation id."""

    __slots__ = ("_head", "_left", "limit", "noticed", "watched")

    def __init__(self, limit: int, watched: frozenset[int], noticed: Callable[[bytes, bytes], None]) -> None:
        self.limit = limit
        self.watched = watched
        self.noticed = noticed
        self._left = 0  # bytes of the frame that are still to come
        self._head = b""  # of a frame whose first bytes came apart

    def look(self, data: bytes) -> int:
        """How many of these bytes belong to good frames: all, or those before a frame whose length is none (then `FrameError` follows)."""
        size = len(data)
        # One read, one whole frame is the usual case
        if not self._left and not self._head and size >= HEAD and _length(data)[0] == size - 4 <= self.limit:
            if data[4] << 8 | data[5] in self.watched:
                self.noticed(data[4:8], data[8:HEAD])
            return size
        return self._walk(data)

    def refusal(self, data: bytes) -> FrameError:
        """Why the frame that begins here (behind what `look` said) is none."""
        return FrameError(_length(self._head + data[: 4 - len(self._head)])[0], self.limit)

    def _walk(self, data: bytes) -> int:
        at, size = 0, len(data)
        while at < size:
            if self._left:
                step = min(self._left, size - at)
                self._left -= step
                at += step
                continue
            head = self._head + data[at : at + HEAD - len(self._head)]
            if len(head) < 4:
                self._head = head
                return size
            length = _length(head)[0]
            if not 0 <= length <= self.limit:
                return at
            wanted = min(HEAD, 4 + length)
            taken = min(len(head), wanted) - len(self._head)
            at += taken
            if len(head) < wanted:
                self._head = head
                return size
            self._head, self._left = b"", 4 + length - wanted
            if wanted == HEAD and head[4] << 8 | head[5] in self.watched:
                self.noticed(head[4:8], head[8:HEAD])
        return size


class Taker(Protocol):
    """Whoever looks at one answer."""

    def feed(self, data: bytes) -> None:
        """The next bytes of it, its length among them."""

    def end(self) -> None:
        """All of it has come."""


class Collected:
    """An answer that is looked at when it is whole: `whole(frame)`, without its length."""

    __slots__ = ("_frame", "_whole")

    def __init__(self, whole: Callable[[bytes], None]) -> None:
        self._whole = whole
        self._frame = bytearray()

    def feed(self, data: bytes) -> None:
        """The next bytes."""
        self._frame += data

    def end(self) -> None:
        """It is whole."""
        self._whole(bytes(memoryview(self._frame)[4:]))


class Answers:
    """Bytes of a node. `awaited`: correlation ids of the answers that are to be looked at, each with something of the caller's.

    `passes(data)` is called with what comes. Where an awaited answer begins, `taker(what, size)` is asked, with its size in bytes: the
    bytes go to whoever that is, in the same order; None: they pass.
    """

    __slots__ = ("_held", "_left", "_taker", "awaited", "limit", "passes", "taker")

    def __init__(self, limit: int, passes: Callable[[bytes], None], taker: Callable[[Any, int], Taker | None]) -> None:
        self.limit = limit
        self.awaited: dict[bytes, object] = {}
        self.passes = passes
        self.taker = taker
        self._left = 0  # bytes of the frame that are still to come
        self._held = b""  # of a frame's head that came apart
        self._taker: Taker | None = None  # of the frame

    @property
    def between(self) -> bool:
        """Does a frame begin with the next byte, and is none awaited?"""
        return not (self._left or self._held or self.awaited)

    def wait_for(self, correlation: bytes, what: object) -> None:
        """The answer with this id is to be looked at."""
        if len(self.awaited) >= MOST_AWAITED:
            del self.awaited[next(iter(self.awaited))]
        self.awaited[correlation] = what

    def feed(self, data: bytes) -> None:
        """Bytes that came. Raises FrameError for a length that no answer has; what is before it was handed on."""
        size = len(data)
        if not (self.awaited or self._left or self._held) and size >= 4 and _length(data)[0] == size - 4 <= self.limit:
            self.passes(data)
            return
        self._walk(self._held + data if self._held else data)

    def _walk(self, data: bytes) -> None:
        self._held = b""
        begin = at = 0  # what lies between them passes
        size = len(data)
        while at < size:
            if self._left:
                step = min(self._left, size - at)
                self._left -= step
                if self._taker is not None:
                    self._taker.feed(data[at : at + step])
                    begin = at + step
                    if not self._left:
                        self._taker.end()
                        self._taker = None
                at += step
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
                    self._taker = self.taker(self.awaited.pop(identifier), 4 + length)
                    if self._taker is not None:
                        self._pass(data, begin, at)
                        begin = at
            self._left = 4 + length
        self._pass(data, begin, at)
        self._held = data[at:]

    def _pass(self, data: bytes, begin: int, end: int) -> None:
        if begin < end:
            self.passes(data if end - begin == len(data) else data[begin:end])
