"""A follower reads a journal file that is still being written. It keeps an incomplete last line for later."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from .read import JournalReader, LeftOut, UnknownRow
from .rows import Row

_decoded: Final = msgspec.json.Decoder(dict[str, Any]).decode


class Follower:
    """A reader that returns the rows written since the last call, which may be none. It never waits. Raises OSError, NotAJournal."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._header = b""
        self._half = b""
        self._reader: JournalReader | None = None

    @property
    def left_out(self) -> LeftOut | None:
        """The rows that a size limit kept out of the file, as far as the rows returned so far say."""
        return self._reader.left_out if self._reader is not None else None

    def rows(self) -> Iterator[Row | UnknownRow]:
        """Return the rows written since the last call. Lines that are not rows are skipped."""
        lines = self._lines()
        if not lines:
            return iter(())
        # The header is put before every batch, because JournalReader reads only whole journals.
        self._reader = JournalReader(io.BytesIO(self._header + b"".join(lines)))
        return iter(self._reader)

    def json_rows(self) -> list[dict[str, Any]]:
        """Return the new rows as dicts of their JSON."""
        return [_decoded(line) for line in self._lines()]

    def close(self) -> None:
        self._file.close()

    def _lines(self) -> list[bytes]:
        whole, end, self._half = (self._half + self._file.read()).rpartition(b"\n")
        lines = [line + end for line in whole.split(end)] if end else []
        if lines and not self._header:
            self._header = lines.pop(0)
        return lines
