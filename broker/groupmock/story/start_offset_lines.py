"""Make the lines about the start offsets of a share group: partitions that are initialised, altered or deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from .folding import Line
from .words import MOST, count, text

if TYPE_CHECKING:
    from ..journal.rows import NoteRow
    from .tale import Tale

INITIALIZED: Final = "share_initialized"
ALTERED: Final = "share_offsets_altered"
DELETED: Final = "share_offsets_deleted"


def initialized(tale: Tale, row: NoteRow) -> Iterator[Line]:
    """Say that members may be given these partitions from now on."""
    start = row.fields["start_offset"]
    begins = "the first fetch decides where it begins" if start < 0 else f"it begins at offset {start}"
    yield Line(row.t, f"{count(len(row.fields['partitions']), 'share partition')} of {text(row.fields['topic'])} initialised: {begins}")


def altered(tale: Tale, row: NoteRow) -> Iterator[Line]:
    topic, offsets = text(row.fields["topic"]), row.fields["start_offsets"]
    told = [f"{topic}/{index} at {offset}" for index, offset in list(offsets.items())[:MOST]]
    more = f" and {len(offsets) - MOST} more" if len(offsets) > MOST else ""
    yield Line(row.t, f"start offsets set by request: {', '.join(told)}{more}")


def deleted(tale: Tale, row: NoteRow) -> Iterator[Line]:
    yield Line(row.t, f"start offsets of {text(row.fields['topic'])} deleted by request: the next member begins anew")
