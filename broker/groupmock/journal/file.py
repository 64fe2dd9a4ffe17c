"""Write a journal file as JSON Lines in printable ASCII, with every frame. It flushes every quarter of a second and at the end.

A journal is never silently incomplete. The first write that fails is reported once to `failed`, which ends the server with exit code 3.
Nothing is written after it, and the missing last row (`note`, "end") shows it in the file too.

With `max_bytes` the file stays below that size and has only whole rows. When a row does not fit, a note (`rows.LEFT_OUT`) says so at once,
for readers that follow the file or open it after a kill -9. At the end another note says how many rows are missing.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from binascii import b2a_base64
from collections.abc import Callable
from struct import Struct
from typing import Final, NamedTuple

import msgspec

from ..text.printable import ascii_json
from .journal import Repeated, Sink
from .rows import LEFT_OUT, Header, NoteRow, ReplyRow, RequestRow, Row

_one_id: Final = Struct(">i").unpack_from
FLUSH_BYTES: Final = 128 * 1024
LAST_BYTES: Final = 512
"""The bytes reserved for the two notes about left-out rows, whose numbers have at most 19 digits."""
IN_USE: Final = "another groupmock writes it now: give each its own file, or a folder (a path that ends in a slash)"
NO_TAGS: Final = b',"unknown_tags":{}'
ONLY_NO_TAGS: Final = b'"unknown_tags":{}'

# These numbers mark the values that differ between repeated heartbeats while their template is made. No real row has such numbers.
SEQUENCE, REPLY_SEQUENCE, TICKET, NOW, CORRELATION, THEN, WAITED = (-9_111_111_111_111_111_110 - place for place in range(7))
FRAME: Final = "\0frame\0"
ORDER: Final = [str(mark) for mark in (SEQUENCE, NOW, TICKET, CORRELATION, NOW, NOW, FRAME, REPLY_SEQUENCE, NOW, TICKET, CORRELATION, NOW)]
"""The placeholders of the varying values, in the order of the fields of the request row and the reply row of a repeated heartbeat."""
LATER: Final = [*ORDER[:8], str(THEN), *ORDER[9:-1], str(WAITED), str(THEN)]
"""The placeholders if the answer came later than its heartbeat."""
VARYING: Final = re.compile("|".join(sorted({*ORDER, *LATER})))


class Template(NamedTuple):
    """The rows of a repeated heartbeat as text: the constant parts between the varying values, and the frame's bytes before and after
    the correlation id. `later` is a format string for an answer that comes later than its heartbeat."""

    pieces: list[str]
    before: bytes
    after: bytes
    length: int
    later: str


Unfilled = tuple[Template, bytes, int, int, int, int]
"""A template with its values: correlation ids, time, number of the first row, first ticket, time until the answer."""


class Place(msgspec.Struct):
    """The number and the time of a row."""

    seq: int
    t: int


_place: Final = msgspec.json.Decoder(Place).decode


class FileSink(Sink):
    """A sink that writes every row to the new file `path`, with at most `max_bytes` (None: no limit). `full` is called with the number
    of the first row without room. Raises OSError if the file cannot be opened."""

    routine = True
    heartbeats = True
    details = True

    def __init__(
        self, path: str, failed: Callable[[str], None], max_bytes: int | None = None, full: Callable[[int], None] = lambda first: None
    ) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self.left_out = 0
        """The number of rows that did not fit into the file."""
        self.failure: OSError | None = None
        self.written = 0
        self._failed = failed
        self._full = full
        self._first = 0  # The number of the first row that is left out.
        self._end: Place | None = None  # Number and time of the last row, or None while there is room.
        self._file = _opened_alone(path)
        self._lines: list[bytes | Unfilled] = []
        self._waiting = 0
        self._encode = msgspec.json.Encoder().encode

    def begin(self, header: Header) -> None:
        """Write the header to disk before anything is served. Raises OSError."""
        line = ascii_json(self._encode(header)) + b"\n"
        if self.max_bytes is not None and len(line) + LAST_BYTES > self.max_bytes:
            raise OSError(errno.EFBIG, f"its header alone has {len(line)} bytes, and it may have {self.max_bytes}")
        self._write(line)

    def take(self, row: Row) -> None:
        """Write a row, or count it if the file may not grow further."""
        if self._end is not None:
            self._skip(1, row.seq, row.t)
            return
        self._add(without_empty_tags(self._encode(row)) + b"\n")

    def take_repeated(self, repeated: Repeated) -> None:
        """Write the rows of repeated heartbeats. The request row and the reply row are a template with a few numbers, which are filled
        in at the next flush."""
        if self._end is not None:
            rows = len(repeated.identifiers) >> 1  # Every four bytes are a correlation id, which makes a request row and a reply row.
            self._skip(rows, repeated.first + rows - 1, repeated.now)
            return
        template = repeated.template
        if not isinstance(template, Template):
            template = repeated.template = self._template(repeated)
        identifiers = repeated.identifiers
        self._lines.append((template, identifiers, repeated.now, repeated.first, repeated.first_ticket, repeated.waited))
        # The division by four is needed because each heartbeat has four bytes in `identifiers` and `length` characters of text.
        self._waiting += template.length * len(identifiers) >> 2
        if self._waiting >= FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the waiting rows to the file."""
        data = ascii_json(b"".join([line if isinstance(line, bytes) else filled_in(*line) for line in self._lines]))
        self._lines.clear()
        self._waiting = 0
        if self.max_bytes is not None and self.written + len(data) > self.max_bytes - LAST_BYTES:
            data = self._whole_rows(data, self.max_bytes - LAST_BYTES - self.written)
        self._write_on(data)

    def close(self) -> None:
        """Write the waiting rows and close the file. Raises OSError if the file is not complete. A second call does nothing more."""
        if self._file < 0:
            return
        self.flush()
        if self._end is not None:
            # The note is written to the file and not to the journal, where it would count as a missing row.
            self._write_on(self._last_note(Place(self._end.seq + 1, self._end.t), self._first, rows=self.left_out))
        # The file is unlocked explicitly, because closing keeps the lock while a forked process has the file open.
        fcntl.flock(self._file, fcntl.LOCK_UN)
        os.close(self._file)
        self._file = -1
        if self.failure is not None:
            raise self.failure

    def _whole_rows(self, data: bytes, room: int) -> bytes:
        """Return the rows that fit, followed by the note about the missing rows. No row is kept after this call."""
        fitting = data.rfind(b"\n", 0, max(room, 0)) + 1
        lines = data[fitting:].splitlines()
        if not lines:
            return data
        first = _place(lines[0])
        self._first, self._end, self.left_out = first.seq, _place(lines[-1]), len(lines)
        self._full(first.seq)
        return data[:fitting] + self._last_note(first, first.seq)

    def _skip(self, rows: int, last: int, t: int) -> None:
        self.left_out += rows
        self._end = Place(last, t)

    def _last_note(self, place: Place, first: int, **more: int) -> bytes:
        fields = {"first": first, **more, "max_bytes": self.max_bytes}
        return self._encode(NoteRow(seq=place.seq, t=place.t, what=LEFT_OUT, fields=fields)) + b"\n"

    def _write_on(self, data: bytes) -> None:
        # Nothing is written after a failed write, because rows after a gap would look like a complete journal.
        if data and self.failure is None:
            try:
                self._write(data)
            except OSError as failure:
                self.failure = failure
                self._failed(f"{self.path}: {failure.strerror}")

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            # One write may write only a part, as on a disk that fills up; the next write then raises the reason.
            done = os.write(self._file, rest)
            self.written += done
            rest = rest[done:]

    def _add(self, data: bytes) -> None:
        self._lines.append(data)
        self._waiting += len(data)
        if self._waiting >= FLUSH_BYTES:
            self.flush()

    def _template(self, repeated: Repeated) -> Template:
        """Make the template from rows with recognizable numbers, so that the format of a row is defined in one place only."""
        request, reply = repeated.sample()
        raw = request.raw or b""
        encoded = base64(raw)
        mark_all(request, SEQUENCE)
        mark_all(reply, REPLY_SEQUENCE)
        lines = b"".join(without_empty_tags(self._encode(row)) + b"\n" for row in (request, reply))
        # base64 encodes three bytes at a time. The correlation id is bytes 4 to 7, so bytes 3 to 8 differ, which are characters 4 to 11.
        text = ascii_json(lines).decode().replace(encoded, encoded[:4] + FRAME + encoded[12:])
        assert VARYING.findall(text) == (LATER if reply.waited else ORDER), "the fields of rows changed: ORDER and filled_in must follow"
        pieces = VARYING.split(text)
        return Template(pieces, raw[3:4], raw[8:9], len(text), "%s".join(piece.replace("%", "%%") for piece in pieces))


def _opened_alone(path: str) -> int:
    """Open and lock an empty file for writing, because two writers would overwrite each other's rows. Raises OSError."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if stat.S_ISREG(os.fstat(file).st_mode):  # Only a regular file has contents that could be overwritten.
            _lock(file)
            os.ftruncate(file, 0)
    except OSError:
        os.close(file)
        raise
    return file


def _lock(file: int) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BlockingIOError(errno.EWOULDBLOCK, IN_USE) from None


def filled_in(template: Template, identifiers: bytes, now: int, sequence: int, ticket: int, waited: int) -> bytes:
    """Return the request and reply rows of repeated heartbeats as text. Joining texts takes half the time of formatting numbers."""
    pieces, before, after, _, later = template
    if waited:
        number, frame = _one_id(identifiers)[0], base64(before + identifiers + after)
        then = now + waited
        return (later % (sequence, now, ticket, number, now, now, frame, sequence + 1, then, ticket, number, waited, then)).encode()
    t = str(now)
    if len(identifiers) == 4:
        return "".join(_pair(pieces, t, sequence, str(ticket), str(_one_id(identifiers)[0]), base64(before + identifiers + after))).encode()
    places = range(0, len(identifiers), 4)
    frames = base64(b"".join([before + identifiers[at : at + 4] + after for at in places]))
    out: list[str] = []
    for at in places:
        out += _pair(pieces, t, sequence, str(ticket), str(_one_id(identifiers, at)[0]), frames[2 * at : 2 * at + 8])
        sequence += 2
        ticket += 1
    return "".join(out).encode()


def _pair(pieces: list[str], t: str, sequence: int, ticket: str, correlation: str, frame: str) -> tuple[str, ...]:
    p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12 = pieces
    return (
        p0, str(sequence), p1, t, p2, ticket, p3, correlation, p4, t, p5, t, p6, frame,
        p7, str(sequence + 1), p8, t, p9, ticket, p10, correlation, p11, t, p12,
    )  # fmt: skip


def base64(data: bytes) -> str:
    """Return the base64 form without a line end. Six bytes give eight characters, whatever is around them."""
    return b2a_base64(data, newline=False).decode()


def mark_all(row: RequestRow | ReplyRow, sequence: int) -> None:
    """Put the template's placeholders into a row wherever the rows of two repeated heartbeats differ."""
    row.seq, row.t, row.ticket, row.correlation_id = sequence, NOW, TICKET, CORRELATION
    if isinstance(row, ReplyRow):
        row.written = NOW
        if row.waited:
            row.t, row.waited, row.written = THEN, WAITED, THEN
    if isinstance(row, RequestRow):
        row.received = row.handled = NOW


def without_empty_tags(line: bytes) -> bytes:
    """Remove `"unknown_tags":{}`, with which nearly every message ends. Within a JSON string these quotes would be escaped."""
    return line.replace(NO_TAGS, b"").replace(ONLY_NO_TAGS, b"")
