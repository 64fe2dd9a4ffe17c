"""This sink keeps a rig's journal rows in memory, so that a test can look at them afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..journal.journal import Sink
from ..journal.rows import KINDS

if TYPE_CHECKING:
    from ..journal.journal import Repeated
    from ..journal.rows import Header, Row


class KeptRows(Sink):
    """A sink that keeps the rows of these `kinds`. With `heartbeats` repeated heartbeats are kept, too; with `details` rows have decoded
    structures and frames."""

    routine = True

    def __init__(self, *, heartbeats: bool = False, details: bool = False, kinds: Iterable[str] = KINDS) -> None:
        self.kinds = frozenset(kinds)
        self.heartbeats = heartbeats
        self.details = details
        self.header: Header | None = None
        self.rows: list[Row] = []

    def begin(self, header: Header) -> None:
        self.header = header

    def take(self, row: Row) -> None:
        self.rows.append(row)

    def take_repeated(self, repeated: Repeated) -> None:
        """Keep the rows of repeated heartbeats and their answers."""
        self.rows.extend(repeated.rows())

    def of(self, kind: str) -> list[Any]:
        return [row for row in self.rows if row.__struct_config__.tag == kind]
