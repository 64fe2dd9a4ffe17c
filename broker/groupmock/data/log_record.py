"""What a test sees of a log: plain frozen values, copied on the server's thread. (Of groups: core.groups.view.)"""

from __future__ import annotations

from typing import Literal

import msgspec

Isolation = Literal["read_uncommitted", "read_committed"]
"""What a reader is given of transactions, by the names of the consumer's isolation.level."""
Outcome = Literal["open", "committed", "aborted"]
"""How a transaction ended so far."""


class Record(msgspec.Struct, frozen=True):
    """One record of a log. `timestamp` is ms since 1970. `transaction`: whether the transaction that it was written in is open, committed
    or aborted, None where it was written in none; `marker`: it is the control record that ends the transaction."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    transaction: Outcome | None = None
    marker: bool = False
