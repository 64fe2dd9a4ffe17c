"""Map each kind of note about one group to the function that makes its lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from . import record_lines, start_offset_lines, task_lines
from .committed import EXPIRED, OF_TRANSACTION, REMOVED
from .offset_lines import offset_gone, transaction_ended

if TYPE_CHECKING:
    from ..journal.rows import NoteRow
    from .folding import Line
    from .tale import Tale

LINES_OF: Final[dict[str, Callable[[Tale, NoteRow], Iterator[Line]]]] = {
    OF_TRANSACTION: transaction_ended,
    EXPIRED: offset_gone,
    REMOVED: offset_gone,
    record_lines.ACQUIRED: record_lines.acquired,
    record_lines.ACKNOWLEDGED: record_lines.acknowledged,
    record_lines.RELEASED: record_lines.released,
    start_offset_lines.INITIALIZED: start_offset_lines.initialized,
    start_offset_lines.ALTERED: start_offset_lines.altered,
    start_offset_lines.DELETED: start_offset_lines.deleted,
    task_lines.CREATED: task_lines.created,
}
