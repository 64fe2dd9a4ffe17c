"""What a member process is started with. Read by the members too, so it loads nothing but msgspec."""

from __future__ import annotations

from typing import Final

import msgspec

RANGE: Final = "range"
ROUND_ROBIN: Final = "roundrobin"
STICKY: Final = "cooperative-sticky"
COOPERATIVE: Final = "cooperative"
DUAL: Final = "range-or-cooperative"
"""aiokafka's changing over: one assignor by the name of range (cooperative.aiokafka.RangeOrCooperative)."""
LIBRARIES: Final = ("aiokafka", "kafka-python", "confluent-kafka")


class MemberSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One member. `name` is its client id, so every request of it, on whatever connection, is told apart in the journal; times in ms."""

    library: str
    name: str
    bootstrap: str
    group: str
    topics: tuple[str, ...]
    assignors: tuple[str, ...]  # RANGE, ROUND_ROBIN, STICKY, COOPERATIVE, DUAL; what the member lists, best first
    twin: bool = False
    design: int = 2
    delay_ms: int = 2000
    max_moves: int = 1
    move_interval_ms: int = 500
    session_ms: int = 2000
    heartbeat_ms: int = 200
    commit_ms: int = 500
    metadata_ms: int = 500
