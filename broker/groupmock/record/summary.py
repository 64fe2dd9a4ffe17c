"""Summarize a recording in one line for its end: connections, requests, groups, and the path of the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..journal.journal import Sink
from ..journal.rows import MovedRow, Row
from .heard_groups import MOST_GROUPS

if TYPE_CHECKING:
    from ..net.counters import Counters


class GroupNames(Sink):
    """A sink that keeps the names of the recorded groups, at most MOST_GROUPS of them."""

    kinds = frozenset({"moved"})

    def __init__(self) -> None:
        self.names: set[str] = set()

    def take(self, row: Row) -> None:
        if isinstance(row, MovedRow) and len(self.names) < MOST_GROUPS:
            self.names.add(row.group)


def summary_line(counters: Counters, groups: int, path: str, left_out: int) -> str:
    """Return `recorded 3 connections, 1,204 requests and 2 groups: traffic.jsonl`. `left_out` counts the rows that did not fit."""
    parts = [_count(counters.connections_opened, "connection"), _count(counters.handled, "request"), _count(groups, "group")]
    more = " or more" if groups >= MOST_GROUPS else ""
    lacking = f", without {_count(left_out, 'row')} that did not fit" if left_out else ""
    return f"recorded {parts[0]}, {parts[1]} and {parts[2]}{more}: {path}{lacking}"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"
