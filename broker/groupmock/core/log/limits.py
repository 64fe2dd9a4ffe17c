"""The limits of a topic are the configs that an append needs, parsed once when they change."""

from __future__ import annotations

from typing import NamedTuple


class LogLimits(NamedTuple):
    """The limits of one topic on the records that it accepts and keeps. Sizes are bytes and times are ms; `before_max_ms` and
    `after_max_ms` bound CreateTime timestamps. `retention_ms` is -1 if nothing expires, as in a topic that is only compacted. In a
    compacted topic, tombstones stay for `delete_retention_ms` and records stay uncompacted for `min_compaction_lag_ms`."""

    compact: bool
    max_message_bytes: int
    log_append_time: bool
    before_max_ms: int
    after_max_ms: int
    retention_bytes: int
    producer_expiration_ms: int
    producer_check_ms: int = 600_000
    retention_ms: int = -1
    segment_ms: int = 2**63 - 1
    segment_bytes: int = 2**31 - 1
    delete_retention_ms: int = 86_400_000
    min_compaction_lag_ms: int = 0
