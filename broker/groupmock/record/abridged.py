"""Abridge an answer with records while it passes: keep everything but the records, and the length and digest of each batch of records. This
module uses no sockets.

A consumer fetches megabytes, and no row shows the records (`net.details`). Collecting such an answer, cutting it out and decoding it would
copy it four times, which costs more than passing it on. So the answer is parsed piece by piece: everything but the records is kept, in a
frame of its own in which every big `records` is empty, and the records are only digested. That frame is then decoded like any other.

The parser follows the declaration of the answer, field by field, and stops wherever the bytes of a piece end. From the first byte that
cannot belong to such an answer, all bytes are kept as they are, and the decoder reports what is wrong with them.

Addresses come at the very end (KIP-951), and the parser knows how many bytes follow the records of a partition. If they
are too few for one address, the pieces need not be held back any longer. With one partition that is known before its first record comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from struct import calcsize
from typing import TYPE_CHECKING, Any, Final

from groupmock_codec import APIS
from groupmock_codec.declare import Message, Wire, fields_of
from groupmock_codec.emit import CODES
from groupmock_codec.headers import response_header_version
from groupmock_codec.runtime import as_int32

from ..net.details import BIG, Digested, has_records, holds_records
from .addresses import tells_addresses

if TYPE_CHECKING:
    from .wire_codec import WireCodec

SMALLEST_ADDRESS: Final = 15
"""The smallest size in bytes of what follows the last records in an answer with one broker address. In Fetch it is a tagged section: count,
tag, size, count, node id 4, host 1 and its length, port 4, tags. In ShareFetch it is one byte more."""
FIRST: Final = 8
"""The size in bytes of a frame's length and correlation id together."""

# A step of reading a message is a pair: the kind of the step and its argument.
FIXED: Final = "fixed"  # The argument of this step is the number of bytes.
SIZED: Final = "sized"  # The argument of this step is the wire type of bytes that follow their length.
EACH: Final = "each"  # The argument of this step is the steps of each element that follows the count.
RECORDS: Final = "records"
TAGS: Final = "tags"
LENGTH_BYTES: Final = {"string": 2, "bytes": 4, "records": 4, "array": 4}
"""The bytes of a length or count before KIP-482; later versions write a varint."""

Step = tuple[str, Any]


@cache
def abridges(key: int) -> bool:
    """Return whether answers of this API have records, which can be left out."""
    return has_records(APIS[key].response.message)


@cache
def steps_of(key: int, version: int) -> tuple[Step, ...]:
    """Return the steps through an answer, from the length of its frame on."""
    api = APIS[key]
    flexible = api.flexible_from is not None and version >= api.flexible_from
    header: list[Step] = [(FIXED, FIRST)]
    if response_header_version(key, version):
        header.append((TAGS, None))
    return _joined([*header, *_struct(api.response.message, version, flexible)])


def _struct(message: type[Message], version: int, flexible: bool) -> Iterator[Step]:
    for field in fields_of(message):
        if field.present(version) and not (flexible and field.tagged(version)):
            yield from _value(field.wire, version, flexible)
    if flexible:
        yield TAGS, None


def _value(wire: Wire, version: int, flexible: bool) -> Iterator[Step]:
    if wire.kind in CODES:
        yield FIXED, calcsize(f">{CODES[wire.kind]}")
    elif wire.kind == "struct":
        yield from _struct(wire.struct, version, flexible)
    else:
        size = 0 if flexible else LENGTH_BYTES[wire.kind]
        if wire.kind == "array":
            yield EACH, (size, _joined([*_value(wire.element_wire, version, flexible)]))
        else:
            yield (RECORDS if wire.kind == "records" else SIZED), size


def _joined(steps: list[Step]) -> tuple[Step, ...]:
    """Merge each run of consecutive steps over fixed numbers of bytes into one step."""
    found: list[Step] = []
    for what, size in steps:
        if what == FIXED and found and found[-1][0] == FIXED:
            size += found.pop()[1]
        found.append((what, size))
    return tuple(found)


class _NoSuchAnswer(Exception):
    """Raised if bytes cannot be the answer that is expected next."""


class Abridged:
    """An answer that is abridged while it passes in pieces. `feed` takes the pieces (`size` bytes with the length), `digest()` hashes them
    when there is time, then `read()` decodes. `may_tell` says that addresses may still come. `kept` holds what has arrived, without big
    records."""

    def __init__(self, codec: WireCodec, size: int) -> None:
        self.codec = codec
        self.size = size
        self.kept = bytearray()
        self.may_tell = tells_addresses(codec.key, codec.version)
        self._to_come = size
        self._data = b""
        self._at = 0
        self._message: Message | None = None
        # Length and digest of each `records` field in wire order, or None for a field that is kept.
        self._records: list[tuple[int, Any] | None] = []
        self._due: list[tuple[Any, memoryview]] = []
        self._walk: Iterator[None] | None = self._steps(steps_of(codec.key, codec.version))

    def feed(self, data: bytes) -> None:
        """Read the next bytes of the answer."""
        self._to_come -= len(data)
        self._data = self._data[self._at :] + data
        self._at = 0
        if self._walk is not None:
            try:
                next(self._walk)
            except (StopIteration, _NoSuchAnswer):
                self._walk = None
        if self._walk is None:
            self._keep(len(self._data) - self._at)

    def digest(self) -> None:
        """Hash the records that have arrived."""
        for digest, part in self._due:
            digest.update(part)
        self._due.clear()

    @property
    def frame(self) -> bytes:
        """Return the kept bytes of the answer, without its length."""
        return bytes(memoryview(self.kept)[4:])

    def read(self) -> Message:
        """Return the decoded answer, in which each big `records` field is a `Digested`. Raises CodecError."""
        if self._message is None:
            self.digest()
            message = self.codec.read_answer(self.frame)
            _fill(message, iter(self._records))
            self._message = message
        return self._message

    # Each of the generators below yields when it needs bytes that have not arrived.

    def _steps(self, steps: tuple[Step, ...]) -> Iterator[None]:
        for what, of in steps:
            if what == FIXED:
                if len(self._data) - self._at < of:
                    yield from self._need(of)
                self._keep(of)
            elif what == SIZED:
                length = yield from self._length(of)
                yield from self._need(length)
                self._keep(length)
            elif what == EACH:
                count = yield from self._length(of[0])
                for _ in range(count):
                    yield from self._steps(of[1])
            elif what == RECORDS:
                yield from self._pass_records(of)
            else:
                yield from self._tags()

    def _need(self, size: int) -> Iterator[None]:
        """Yield until `size` more bytes of the answer have arrived."""
        while (here := len(self._data) - self._at) < size:
            if here + self._to_come < size:
                raise _NoSuchAnswer
            yield

    def _keep(self, size: int) -> None:
        self.kept += self._data[self._at : self._at + size]
        self._at += size

    def _length(self, size: int, keep: bool = True) -> Any:
        """Read a length or a count; null counts as 0."""
        if size:
            yield from self._need(size)
            value, end = int.from_bytes(self._data[self._at : self._at + size], "big", signed=True), size
        else:
            value, end = yield from self._varint()
            value = as_int32(value - 1)
        if keep:
            self._keep(end)
            return max(value, 0)
        return value, end

    def _varint(self) -> Any:
        value = 0
        for end in range(1, 6):
            yield from self._need(end)
            byte = self._data[self._at + end - 1]
            value |= (byte & 0x7F) << 7 * (end - 1)
            if byte < 0x80:
                return value, end
        raise _NoSuchAnswer

    def _tags(self) -> Iterator[None]:
        count, end = yield from self._varint()
        self._keep(end)
        for _ in range(count):
            _, end = yield from self._varint()
            self._keep(end)
            size, end = yield from self._varint()
            self._keep(end)
            yield from self._need(size)
            self._keep(size)

    def _pass_records(self, size: int) -> Iterator[None]:
        length, end = yield from self._length(size, keep=False)
        behind = len(self._data) - self._at - end + self._to_come - max(length, 0)
        if behind < 0:
            raise _NoSuchAnswer
        if behind < SMALLEST_ADDRESS:
            self.may_tell = False
        if length <= BIG:
            yield from self._need(end + max(length, 0))
            self._keep(end + max(length, 0))
            self._records.append(None)
            return
        digest = sha256()
        self._records.append((length, digest))
        self.kept += bytes(size) or b"\1"  # Write no bytes in place of the records, because in ShareFetch they may not be null.
        self._at += end
        while True:
            part = memoryview(self._data)[self._at : self._at + length]
            self._due.append((digest, part))
            self._at += len(part)
            length -= len(part)
            if not length:
                return
            yield


def _fill(message: Any, records: Iterator[tuple[int, Any] | None]) -> None:
    """Put the digests of the omitted records into the decoded message."""
    for field in fields_of(type(message)):
        if field.wire.kind == "records":
            left_out = next(records)
            if left_out is not None:
                setattr(message, field.name, Digested(left_out[0], left_out[1].hexdigest()))
        elif holds_records(field.wire):
            for entry in getattr(message, field.name) or ():
                _fill(entry, records)
