"""Where a frame begins in bytes whose beginning nobody saw: a capture that begins in the middle of a connection, or misses a piece of it.

Kafka's frames have no mark at their begin. What is looked for is a place where a length and a header stand that can be true; it is believed
only when the whole frame is there and its body can be read to its last byte, and when the place is where one of the peer's writes began or
the frame ends where one ended: programs write whole frames, and a write is what a segment, or a row of them, carries. Numbers inside of
records, which look like small frames easily, are no such places. What stands before is counted (`skipped`) and never guessed at.

A request is known by its header; an answer by the correlation id of a request that was seen, and by that request's API and version.

Cost: each byte is looked at once for requests, and for answers once per request that is open; memory is `SEARCH_BYTES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from struct import pack
from typing import TYPE_CHECKING, Final, NamedTuple

from groupmock_codec import APIS
from groupmock_codec.errors import CodecError

from .wire_codec import HEADER_BYTES, WireCodec, WireCodecs, plausible

if TYPE_CHECKING:
    from .dialogue import Passing

LENGTH_BYTES: Final = 4
SEARCH_BYTES: Final = 1 << 20
"""The longest frame that is believed without the one before it."""
CANDIDATES: Final = 16
"""So many places inside of writes are watched at once; and so many where one began."""
HEAD_BYTES: Final = LENGTH_BYTES + HEADER_BYTES
HEADER: Final = re.compile(rb"(?=\x00...\x00[\x00-\x7f]\x00[\x00-\x3f]....[\x00-\x03\xff])", re.DOTALL)
"""A length below 16 MB, key, version, correlation id, the first byte of the client id's length."""


class Place(NamedTuple):
    """Where a frame may begin. `first`: a write began here."""

    at: int
    first: bool


class Search:
    """One side's bytes, as they come. `find` says where in a piece frames may begin, `fits` whether a frame is one."""

    def __init__(self, find: Callable[[bytes], Iterable[int]], fits: Callable[[bytes], bool]) -> None:
        self.skipped = 0
        self._find = find
        self._fits = fits
        self._held = bytearray()
        self._places: list[Place] = []

    @property
    def held(self) -> int:
        """Bytes that may belong to a frame yet."""
        return len(self._held)

    def feed(self, data: bytes) -> bytes | None:
        """The next write, or piece of one. What stands from the first frame on, with its length; None: there is none yet."""
        begin = len(self._held)
        self._held += data
        self._watch(begin)
        found = next((place for place in self._places if self._is_frame(place.at, place.first)), None)
        if found is not None:
            rest = bytes(self._held[found.at :])
            self._drop(len(self._held))
            self.skipped -= len(rest)
            return rest
        self._places = [place for place in self._places if self._may_be(place.at)]
        self._drop(min((place.at for place in self._places), default=len(self._held) - HEAD_BYTES + 1))
        return None

    def give_up(self) -> int:
        """A piece is missing behind what is held, or nothing comes: all bytes that were skipped since the last time."""
        self._drop(len(self._held))
        skipped, self.skipped = self.skipped, 0
        return skipped

    def _watch(self, begin: int) -> None:
        self._places.append(Place(begin, True))
        if len(self._places) > 2 * CANDIDATES:
            del self._places[0]
        known = {place.at for place in self._places}
        inside = sum(not place.first for place in self._places)
        start = max(0, begin - HEAD_BYTES + 1)
        for at in self._find(bytes(self._held[start:])):
            if inside == CANDIDATES:
                break
            if start + at not in known:
                self._places.append(Place(start + at, False))
                inside += 1
        self._places.sort()

    def _length(self, at: int) -> int | None:
        """Of the frame there, None: its length is not there yet."""
        if len(self._held) - at < LENGTH_BYTES:
            return None
        return int.from_bytes(self._held[at : at + LENGTH_BYTES], "big", signed=True)

    def _may_be(self, at: int) -> bool:
        length = self._length(at)
        if length is None:
            return True
        return LENGTH_BYTES <= length <= SEARCH_BYTES and len(self._held) < at + LENGTH_BYTES + length

    def _is_frame(self, at: int, first: bool) -> bool:
        length = self._length(at)
        end = at + LENGTH_BYTES + (length or 0)
        if length is None or not LENGTH_BYTES <= length <= SEARCH_BYTES or end > len(self._held):
            return False
        return (first or end == len(self._held)) and self._fits(bytes(self._held[at + LENGTH_BYTES : end]))

    def _drop(self, size: int) -> None:
        if size > 0:
            del self._held[:size]
            self.skipped += size
            self._places = [place._replace(at=place.at - size) for place in self._places if place.at >= size]


@cache
def starts() -> frozenset[bytes]:
    """Key and version, as they stand in a header, of every request that can be read."""
    every = ((int(key), api.request.versions) for key, api in APIS.items())
    return frozenset(pack(">hh", key, version) for key, (lowest, highest) in every for version in range(lowest, highest + 1))


class Requests:
    """What a client sends, as a search looks for it."""

    def __init__(self, codecs: WireCodecs) -> None:
        self._codecs = codecs

    def find(self, data: bytes) -> Iterator[int]:
        """Where a length and a header may stand."""
        for match in HEADER.finditer(data):
            at = match.start()
            length = int.from_bytes(data[at : at + LENGTH_BYTES], "big")
            if HEADER_BYTES <= length <= SEARCH_BYTES and data[at + LENGTH_BYTES : at + 2 * LENGTH_BYTES] in starts():
                yield at

    def fits(self, frame: bytes) -> bool:
        """A request that can be read to its last byte?"""
        codec = self._codecs[frame[:4]] if plausible(frame) else None
        if not isinstance(codec, WireCodec):
            return False
        try:
            _, at = codec.header(frame)
            return codec.decode(frame, at)[1] == len(frame)
        except CodecError:
            return False


class Answers:
    """What the broker sends to the requests that `pending` gives."""

    def __init__(self, pending: Callable[[], Iterable[Passing]]) -> None:
        self._pending = pending

    def find(self, data: bytes) -> Iterator[int]:
        """Where the number of an open request stands behind four bytes."""
        for identifier in {call.correlation for call in islice(self._pending(), CANDIDATES)}:
            at = data.find(identifier, LENGTH_BYTES)
            while at >= 0:
                yield at - LENGTH_BYTES
                at = data.find(identifier, at + 1)

    def fits(self, frame: bytes) -> bool:
        """An answer to one of them that can be read to its last byte?"""
        call = next((call for call in islice(self._pending(), CANDIDATES) if call.correlation == frame[:4]), None)
        if call is None or not isinstance(call.codec, WireCodec):
            return False
        try:
            call.codec.read_answer(frame)
        except CodecError:
            return False
        return True
