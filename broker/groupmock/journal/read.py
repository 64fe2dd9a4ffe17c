"""Reads a journal back: the header, then rows as their classes. A cut last line is reported, the rest is read; unknown kinds are kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final, Union

import msgspec

from .rows import END, LEFT_OUT, ROWS, VERSION, Header, NoteRow, Row


class NotAJournal(ValueError):
    """The file is no journal, or one of a format we do not know; the text says why."""


class UnknownRow(msgspec.Struct):
    """A row of a kind that this version does not know, with all its fields."""

    kind: str
    seq: int
    t: int
    fields: dict[str, Any]


class BrokenRow(msgspec.Struct):
    """A line that is no row, in the middle of a journal."""

    line: int
    reason: str


class _Format(msgspec.Struct):
    v: int


_format: Final = msgspec.json.Decoder(_Format)
_header: Final = msgspec.json.Decoder(Header)
_row: Final = msgspec.json.Decoder(Union[tuple(ROWS.values())])  # noqa: UP007  # a union made of the table
_any: Final = msgspec.json.Decoder(dict[str, Any])


class LeftOut(msgspec.Struct, frozen=True):
    """What a journal of limited size has not: the rows from number `first` on; `rows`: how many, None where the run did not end."""

    first: int
    max_bytes: int
    rows: int | None = None

    def __str__(self) -> str:
        rows = "all rows" if self.rows is None else f"{self.rows} rows"
        return f"{rows} from number {self.first} on are left out: the journal was limited to {self.max_bytes} bytes"


class JournalReader:
    """Iterate over it for rows. After that: `cut` (the last line was not whole, its text), `ended` (closed properly, and whole), `left_out`
    (by a limit of its size), `broken`, `count`. The notes about what is left out are no rows."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self.header = _read_header(source)
        self.cut: bytes | None = None
        self.ended = False
        self.left_out: LeftOut | None = None
        self.broken: list[BrokenRow] = []
        self.count = 0

    def __iter__(self) -> Iterator[Row | UnknownRow]:
        decode = _row.decode
        # From 2: the header is line 1 and was read before.
        for number, line in enumerate(self._source, 2):
            if not line.endswith(b"\n"):
                self.cut = line
                return
            try:
                row: Row | UnknownRow | None = decode(line)
                # Set anew by every row: a run that went on behind END was not closed by it.
                self.ended = False
                if row.__class__ is NoteRow:
                    row = self._noted(row)
            except msgspec.DecodeError as refusal:
                row = self._unknown(number, line, str(refusal))
                self.ended = self.ended and row is None
            if row is not None:
                self.count += 1
                yield row

    def _noted(self, note: Any) -> NoteRow | None:
        """A note, which may be about the journal itself. Raises DecodeError."""
        if note.what == LEFT_OUT:
            self.left_out = msgspec.convert(note.fields, LeftOut)
            return None
        self.ended = note.what == END
        return note  # type: ignore[no-any-return]

    def _unknown(self, number: int, line: bytes, reason: str) -> UnknownRow | None:
        try:
            fields = _any.decode(line)
            # A later version may know more kinds; they are to be kept (docs/reference/journal.md).
            if fields.get("kind") not in ROWS:
                return UnknownRow(str(fields.pop("kind")), int(fields.pop("seq")), int(fields.pop("t")), fields)
        except (msgspec.DecodeError, KeyError, TypeError, ValueError):
            pass
        self.broken.append(BrokenRow(number, reason))
        return None


def read(path: str | Path) -> tuple[JournalReader, list[Row | UnknownRow]]:
    """The whole journal at once. Raises NotAJournal, OSError."""
    with open(path, "rb") as source:
        journal = JournalReader(source)
        return journal, list(journal)


def _read_header(source: IO[bytes]) -> Header:
    line = source.readline()
    try:
        # Its version first: what else a header of another one has is not known.
        version = _format.decode(line).v
        if version != VERSION:
            raise NotAJournal(f"journal format {version}: this version reads {VERSION}")
        return _header.decode(line)
    except msgspec.DecodeError as refusal:
        raise NotAJournal(f"the first line is no journal header: {refusal}") from None
