"""The record that a test reads from a log is a frozen copy, made on the server's thread. (Of groups: core.groups.view.)"""

from __future__ import annotations

from typing import Literal

import msgspec

Isolation = Literal["read_uncommitted", "read_committed"]
"""The isolation levels of a reader, named as in the consumer's isolation.level."""
Outcome = Literal["open", "committed", "aborted"]
"""The outcomes that a transaction may have at present."""


class Record(msgspec.Struct, frozen=True):
    """One record of a log. `timestamp` is ms since 1970. `transaction` says whether the record's transaction is open, committed or
    aborted, None without one. `marker`: it is the control record that ends the transaction."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    transaction: Outcome | None = None
    marker: bool = False
