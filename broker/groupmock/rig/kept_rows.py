"""A sink that keeps rows in memory: what a rig's journal said, to look at afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..journal.journal import Sink
from ..journal.rows import KINDS

if TYPE_CHECKING:
    from ..journal.journal import Repeated
    from ..journal.rows import Header, Row


class KeptRows(Sink):
    """Every row of these `kinds`. `heartbeats`: those that merely repeat too; `details`: with what rides inside, and frames."""

    routine = True

    def __init__(self, *, heartbeats: bool = False, details: bool = False, kinds: Iterable[str] = KINDS) -> None:
        self.kinds = frozenset(kinds)
        self.heartbeats = heartbeats
        self.details = details
        self.header: Header | None = None
        self.rows: list[Row] = []

    def begin(self, header: Header) -> None:
        """The journal begins."""
        self.header = header

    def take(self, row: Row) -> None:
        """One row."""
        self.rows.append(row)

    def take_repeated(self, repeated: Repeated) -> None:
        """Heartbeats and their answers, as rows."""
        self.rows.extend(repeated.rows())

    def of(self, kind: str) -> list[Any]:
        """Those of one kind."""
        return [row for row in self.rows if row.__struct_config__.tag == kind]
