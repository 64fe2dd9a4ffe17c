"""Audits journal files: what is wrong with the file itself is said beside what its clients did."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import IO

from ..journal.read import JournalReader
from .auditor import Auditor
from .known_world import SLACK_NS
from .report import Source
from .verdicts import Finding


def audit_journal(
    name: str,
    source: IO[bytes],
    *,
    codes: Iterable[str] | None = None,
    slack: int = SLACK_NS,
    waive: Callable[[Finding], str | None] | None = None,
) -> Source:
    """Read one journal to its end, with memory for what is open in it and no more. Raises NotAJournal, OSError."""
    reader = JournalReader(source)
    auditor = Auditor(codes, slack=slack, waive=waive)
    last = 0
    for row in reader:
        last = row.seq
        auditor.feed(row)
    header = reader.header
    return Source(
        name=name, audit=auditor.close(), run=header.run, profile=header.profile, product=header.product, notices=_notices(reader, last)
    )


def _notices(reader: JournalReader, last: int) -> list[str]:
    if reader.left_out is not None:
        return [f"{reader.left_out}: they are not judged"]
    if reader.cut is not None:
        return [f"it ends in the middle of the row after {last}: what came then is not judged"]
    if not reader.ended:
        return [f"it has no end after row {last}: the run goes on, or was killed; what came then is not judged"]
    return []
