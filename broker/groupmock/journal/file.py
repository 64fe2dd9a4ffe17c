"""A journal file: JSON Lines, every frame, flushed at least every quarter of a second and at the end.

A journal that was asked for is never silently incomplete: the first write that fails is reported once to `failed`, which ends the
server with exit code 3; nothing is written after it, and the missing last row (`note`, "end") shows it in the file too.
"""

from __future__ import annotations

import os
from binascii import b2a_base64
from collections.abc import Callable
from struct import unpack
from typing import Final, NamedTuple

import msgspec

from .journal import Repeated
from .rows import KINDS, Header, ReplyRow, RequestRow, Row

FLUSH_BYTES: Final = 128 * 1024
NO_TAGS: Final = b',"unknown_tags":{}'
ONLY_NO_TAGS: Final = b'"unknown_tags":{}'

# Numbers that stand for what differs between repeated heartbeats while their template is made; none can be a real one's text.
SEQUENCE, REPLY_SEQUENCE, TICKET, NOW, CORRELATION = (-9_111_111_111_111_111_110 - place for place in range(5))
VARYING: Final = {str(number).encode() for number in (SEQUENCE, REPLY_SEQUENCE, TICKET, NOW, CORRELATION)}


class Template(NamedTuple):
    """Two rows as one bytes format, with what encodes the six bytes around the correlation id in the frame's base64."""

    text: bytes
    before: bytes
    after: bytes


class FileSink:
    """Writes every row to `path`, which is made anew. Raises OSError if it cannot be opened."""

    kinds = frozenset(KINDS)
    heartbeats = True
    details = True

    def __init__(self, path: str, failed: Callable[[str], None]) -> None:
        self.path = path
        self.failure: OSError | None = None
        self.written = 0
        self._failed = failed
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._lines: list[bytes] = []
        self._waiting = 0
        self._encode = msgspec.json.Encoder().encode

    def begin(self, header: Header) -> None:
        """The header is on disk before anything is served. Raises OSError."""
        self._write(self._encode(header) + b"\n")

    def take(self, row: Row) -> None:
        """One row."""
        self._add(without_empty_tags(self._encode(row)) + b"\n")

    def take_repeated(self, repeated: Repeated) -> None:
        """Heartbeats that repeat the last one: their two rows are a template with a few numbers in it."""
        template = repeated.template
        if not isinstance(template, Template):
            template = repeated.template = self._template(repeated)
        text, before, after = template
        identifiers, now, sequence, ticket = repeated.identifiers, repeated.now, repeated.first, repeated.first_ticket
        numbers = unpack(f">{len(identifiers) >> 2}i", identifiers)
        lines = []
        for place, number in enumerate(numbers):
            raw = b2a_base64(before + identifiers[4 * place : 4 * place + 4] + after, newline=False)
            lines.append(text % (sequence, now, ticket, number, now, now, raw, sequence + 1, now, ticket, number))
            sequence += 2
            ticket += 1
        self._add(b"".join(lines))

    def flush(self) -> None:
        """Hand what waits to the kernel."""
        data = b"".join(self._lines)
        self._lines.clear()
        self._waiting = 0
        if data and self.failure is None:
            try:
                self._write(data)
            except OSError as failure:
                self.failure = failure
                self._failed(f"{self.path}: {failure.strerror}")

    def close(self) -> None:
        """Raises OSError if the file is not whole. Safe to call twice."""
        if self._file < 0:
            return
        self.flush()
        os.close(self._file)
        self._file = -1
        if self.failure is not None:
            raise self.failure

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            done = os.write(self._file, rest)
            self.written += done
            rest = rest[done:]

    def _add(self, data: bytes) -> None:
        self._lines.append(data)
        self._waiting += len(data)
        if self._waiting >= FLUSH_BYTES:
            self.flush()

    def _template(self, repeated: Repeated) -> Template:
        """Made from real rows with unmistakable numbers, so that there is no second description of a row."""
        request, reply = repeated.sample()
        raw = request.raw or b""
        encoded = b2a_base64(raw, newline=False)
        mark_all(request, SEQUENCE)
        mark_all(reply, REPLY_SEQUENCE)
        text = b"".join(without_empty_tags(self._encode(row)) + b"\n" for row in (request, reply))
        text = text.replace(b"%", b"%%")
        for number in VARYING:
            text = text.replace(number, b"%d")
        return Template(text.replace(encoded, encoded[:4] + b"%b" + encoded[12:]), raw[3:4], raw[8:9])


def mark_all(row: RequestRow | ReplyRow, sequence: int) -> None:
    """Put the template's numbers where two such heartbeats differ."""
    row.seq, row.t, row.ticket, row.correlation_id = sequence, NOW, TICKET, CORRELATION
    if isinstance(row, RequestRow):
        row.received = row.handled = NOW


def without_empty_tags(line: bytes) -> bytes:
    """Drop `"unknown_tags":{}`, which nearly every message ends in. Inside a JSON string these quotes would be escaped."""
    return line.replace(NO_TAGS, b"").replace(ONLY_NO_TAGS, b"")
