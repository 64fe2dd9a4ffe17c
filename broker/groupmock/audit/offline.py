"""Audits journal files, and reports problems of the files beside the mistakes of clients."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import IO

from ..journal.read import JournalReader
from .auditor import Auditor
from .report import Source
from .verdicts import Finding


def audit_journal(
    name: str,
    source: IO[bytes],
    *,
    codes: Iterable[str] | None = None,
    waive: Callable[[Finding], str | None] | None = None,
) -> Source:
    """Audit one journal from begin to end, with memory only for clients that are still active in it. Raises NotAJournal, OSError."""
    reader = JournalReader(source)
    auditor = Auditor(codes, waive=waive)
    for row in reader:
        auditor.feed(row)
    header = reader.header
    notices = [f"{reader.unfinished}; what came then is not judged"] if reader.unfinished is not None else []
    return Source(name=name, audit=auditor.close(), run=header.run, profile=header.profile, product=header.product, notices=notices)
