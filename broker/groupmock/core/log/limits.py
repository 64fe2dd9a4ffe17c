"""The topic configs that an append looks at, read once when they change."""

from __future__ import annotations

from typing import NamedTuple


class LogLimits(NamedTuple):
    """What one topic accepts and keeps. Sizes in bytes, times in ms; `before_max_ms` and `after_max_ms` bound CreateTime stamps.
    `retention_ms`: -1 where nothing is too old, a topic that is only compacted among them. `delete_retention_ms` and
    `min_compaction_lag_ms` are for a topic that is compacted: how long its tombstones stay, how long a record stays uncompacted."""

    compact: bool
    max_message_bytes: int
    log_append_time: bool
    before_max_ms: int
    after_max_ms: int
    retention_bytes: int
    producer_expiration_ms: int
    retention_ms: int = -1
    segment_ms: int = 2**63 - 1
    segment_bytes: int = 2**31 - 1
    delete_retention_ms: int = 86_400_000
    min_compaction_lag_ms: int = 0
