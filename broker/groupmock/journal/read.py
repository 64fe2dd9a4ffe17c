"""Journals are read line by line: first the header, then the rows as objects of their classes. An incomplete last line is reported and
the rest is read. Rows of unknown kinds are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, Union

import msgspec

from ..text.not_json import NOT_JSON, why_not_json
from ..text.printable import ascii_json
from .file import without_empty_tags
from .rows import END, LEFT_OUT, ROWS, VERSION, Header, NoteRow, Row
from .source import opened
from .unpack import CannotUnpack, DamagedFile, Unpacked

LONGEST_LINE: Final = 512 * 1024 * 1024
"""The largest number of bytes of a row. A frame of 100 MiB (socket.request.max.bytes) has 133 MiB in base64, and its decoded message
besides."""


class NotAJournal(ValueError):
    """Raised if a file is not a journal, or is a journal of an unknown version. The text says why."""


class UnknownRow(msgspec.Struct):
    """A row of a kind that this version of groupmock does not know, or a row that the reader skipped (then without its fields)."""

    kind: str
    seq: int
    t: int
    fields: dict[str, Any]


def line_of(row: Row | UnknownRow) -> bytes:
    """Return a row in its file format, without the line end."""
    if isinstance(row, UnknownRow):
        return ascii_json(msgspec.json.encode({"kind": row.kind, "seq": row.seq, "t": row.t, **row.fields}))
    return ascii_json(without_empty_tags(msgspec.json.encode(row)))


def row_of(line: bytes | msgspec.Raw) -> Row | None:
    """Parse one row from a file or from an answer of the control API. Returns None for a row of an unknown kind and for a line that is
    no row."""
    try:
        row: Row = _row.decode(line)
    except NOT_JSON:
        return None
    return row


class BrokenRow(msgspec.Struct):
    """A line in the middle of a journal that is not a row."""

    line: int
    reason: str


class _Format(msgspec.Struct):
    v: int


_format: Final = msgspec.json.Decoder(_Format)
_header: Final = msgspec.json.Decoder(Header)
_row: Final = msgspec.json.Decoder(Union[tuple(ROWS.values())])  # noqa: UP007  # a union made of the table
_any: Final = msgspec.json.Decoder(dict[str, Any])
_PLACE: Final = re.compile(
    rb'\{"kind":"(?P<kind>request|reply)","seq":(?P<seq>\d+),"t":(?P<t>\d+),(?:"node":\d+,)?"connection":\d+,"ticket":\d+,'
    rb'"correlation_id":-?\d+,"api_key":(?P<api>\d+),'
)
"""The beginning of a request or reply row in the form that groupmock writes. A row in another form is parsed in full."""


class LeftOut(msgspec.Struct, frozen=True):
    """The rows, from number `first` on, that a size limit kept out of a journal. `rows` is their number, None if the run did not end."""

    first: int
    max_bytes: int
    rows: int | None = None

    def __str__(self) -> str:
        rows = "all rows" if self.rows is None else f"{self.rows} rows"
        return f"{rows} from number {self.first} on are left out: the journal was limited to {self.max_bytes} bytes"


class JournalReader:
    """An iterator of a journal's rows. `only` names the APIs whose requests and answers are parsed; others are skipped. After the iteration
    it has `cut` (the text of an incomplete last line), `damage` (in packed data, which cannot be read further), `ended` (whether the
    journal was closed properly and is complete), `left_out` (rows missing because of a size limit), `broken`, `count` and `last` (number of
    the last row). Notes about left-out rows are not returned. Raises NotAJournal, OSError."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self.only: frozenset[int] | None = None
        self.header = _read_header(source)
        self.last = 0
        self.cut: bytes | None = None
        self.ended = False
        self.left_out: LeftOut | None = None
        self.broken: list[BrokenRow] = []
        self.count = 0

    def __iter__(self) -> Iterator[Row | UnknownRow]:
        decode = _row.decode
        # Lines are counted from 2, because the header is line 1 and was read before.
        for number, line in enumerate(iter(partial(self._source.readline, LONGEST_LINE), b""), 2):
            if not line.endswith(b"\n"):
                if len(line) < LONGEST_LINE or self._skip_line():
                    self.cut = line
                    return
                self.broken.append(BrokenRow(number, f"the line has more than {LONGEST_LINE} bytes"))
                continue
            try:
                row: Row | UnknownRow | None = (self._unread(line) if self.only is not None else None) or decode(line)
                # `ended` is reset for each row, because a note `END` followed by more rows did not close the run.
                self.ended = False
                if row.__class__ is NoteRow:
                    row = self._noted(row)
            except NOT_JSON as refusal:
                row = self._unknown(number, line, why_not_json(line, refusal))
                self.ended = self.ended and row is None
            if row is not None:
                self.count += 1
                self.last = row.seq
                yield row

    @property
    def damage(self) -> DamagedFile | None:
        """The damage of the packed data, as far as the data were read."""
        return self._source.damage if isinstance(self._source, Unpacked) else None

    @property
    def unfinished(self) -> str | None:
        """The reason why rows may be missing at the end of the journal, as a sentence without a full stop, or None if the journal has
        its end."""
        if self.left_out is not None:
            return str(self.left_out)
        if self.damage is not None:
            return f"its data are {self.damage}; the last whole row is {self.last}"
        if self.cut is not None:
            return f"it ends in the middle of the row after {self.last}"
        return None if self.ended else f"it has no end after row {self.last}: the run goes on, or was killed"

    def _unread(self, line: bytes) -> UnknownRow | None:
        """Return a row to skip, with its number and time only, or None if the row has to be parsed."""
        match = _PLACE.match(line)
        if match is None or self.only is None or int(match["api"]) in self.only or not line.endswith(b"}\n"):
            return None
        return UnknownRow(match["kind"].decode(), int(match["seq"]), int(match["t"]), {})

    def _skip_line(self) -> bool:
        """Skip the rest of a line that is too long. Returns True if the file ends within the line."""
        while rest := self._source.readline(LONGEST_LINE):
            if rest.endswith(b"\n"):
                return False
        return True

    def _noted(self, note: Any) -> NoteRow | None:
        """Parse a note, which may be about the journal itself. Raises DecodeError."""
        if note.what == LEFT_OUT:
            self.left_out = msgspec.convert(note.fields, LeftOut)
            return None
        self.ended = note.what == END
        return note  # type: ignore[no-any-return]

    def _unknown(self, number: int, line: bytes, reason: str) -> UnknownRow | None:
        try:
            fields = _any.decode(line)
            # A later version may have more kinds of rows, which are kept unread (docs/reference/journal.md).
            if fields.get("kind") not in ROWS:
                return UnknownRow(str(fields.pop("kind")), int(fields.pop("seq")), int(fields.pop("t")), fields)
        except NOT_JSON as refusal:
            reason = why_not_json(line, refusal)
        except (KeyError, TypeError, ValueError):
            pass
        self.broken.append(BrokenRow(number, reason))
        return None


def read(path: str | Path) -> tuple[JournalReader, list[Row | UnknownRow]]:
    """Read the whole journal at once. Raises NotAJournal, OSError."""
    with opened(path) as source:
        journal = JournalReader(source)
        return journal, list(journal)


def _read_header(source: IO[bytes]) -> Header:
    try:
        line = source.readline(LONGEST_LINE)
    except CannotUnpack as cannot:
        raise NotAJournal(str(cannot)) from None
    if not line:
        damage = source.damage if isinstance(source, Unpacked) else None
        raise NotAJournal("it is empty" if damage is None else f"its data are {damage}, before the first line ends")
    try:
        # The version is decoded first, because the header of another version may have different fields.
        version = _format.decode(line).v
        if version != VERSION:
            raise NotAJournal(f"journal format {version}: this version reads {VERSION}")
        return _header.decode(line)
    except NOT_JSON as refusal:
        raise NotAJournal(f"the first line is no journal header: {why_not_json(line, refusal)}") from None
