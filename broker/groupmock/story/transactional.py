"""The story of one transactional id: who came with it, what became of its transactions and why, what the test ordered."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

from ..journal.rows import CommandRow, NoteRow, Row
from .sentences import of_transaction
from .words import SENTENCE, facts, seconds, text

MOST: Final = 400
"""Lines of one id's story, the last ones."""


def tell_id(rows: Iterable[Row | Any], transactional_id: str) -> list[str]:
    """A line per note and command about the id, in order."""
    told: deque[str] = deque(maxlen=MOST)
    for row in rows:
        said = _said(row, transactional_id)
        if said is not None:
            told.append(f"{seconds(row.t):>9}  {said}")
    return list(told)


def _said(row: Row | Any, transactional_id: str) -> str | None:
    if isinstance(row, CommandRow) and row.arguments.get("transactional_id") == transactional_id:
        return f"ordered by the test: {text(row.name)} {facts(row.arguments)}".rstrip()
    if not isinstance(row, NoteRow) or row.fields.get("transactional_id") != transactional_id:
        return None
    return of_transaction(row) or f"{text(row.what.replace('_', ' '))}: {text(row.fields.get('reason', ''), SENTENCE)}"
