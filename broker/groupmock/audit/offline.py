"""Audits journal files, and reports problems of the files beside the mistakes of clients."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Final

from ..journal.read import JournalReader
from .auditor import Auditor
from .report import Source
from .verdicts import Finding

COLLECT_AFTER: Final = 20_000
"""Garbage is collected after this many new objects while a file is judged. Nearly all of them live for one row and are in no cycle."""


def audit_journal(
    name: str,
    source: IO[bytes],
    *,
    codes: Iterable[str] | None = None,
    waive: Callable[[Finding], str | None] | None = None,
    stoppable: bool = False,
) -> Source:
    """Audit one journal from begin to end, with memory only for clients that are still active in it. If it is `stoppable`, Ctrl-C ends it
    with what was judged until then. Raises NotAJournal, OSError."""
    reader = JournalReader(source)
    auditor = Auditor(codes, waive=waive)
    interrupted = False
    try:
        with _collecting_seldom():
            for row in reader:
                auditor.feed(row)
        audit = auditor.close()
    except KeyboardInterrupt:
        if not stoppable:
            raise
        audit, interrupted = auditor.so_far(), True
    header = reader.header
    ends = f"reading was interrupted after row {reader.last}" if interrupted else reader.unfinished
    return Source(
        name=name, audit=audit, run=header.run, profile=header.profile, product=header.product, interrupted=interrupted,
        notices=[f"{ends}; what came then is not judged"] if ends is not None else [],
    )  # fmt: skip


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(max(COLLECT_AFTER, before[0]) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
