"""What a member is started with. Read by the member processes too, so it loads nothing but msgspec."""

from __future__ import annotations

from typing import Any, Final

import msgspec

RANGE: Final = "range"
ROUND_ROBIN: Final = "roundrobin"
STICKY: Final = "cooperative-sticky"
COOPERATIVE: Final = "cooperative"
DUAL: Final = "range-or-cooperative"
"""aiokafka's changing over: one assignor by the name of range (cooperative.aiokafka.RangeOrCooperative)."""
CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
FETCH_MS: Final = 100
LIBRARIES: Final = ("aiokafka", "kafka-python", "confluent-kafka")


class MemberSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One member. `name` is its client id, so every request of it, on whatever connection, is told apart in the journal; times in ms.

    `protocol`: group.protocol; CONSUMER is spoken by confluent-kafka alone, and then the broker says the assignor and the times of sessions
    and heartbeats. `assignors`: what the member lists, best first, by Kafka's names, or COOPERATIVE, DUAL with `settings` of our assignor.
    `pattern`: a regular expression in place of topics. `commit_ms` None: no auto-commit. `poll_ms` matters to kafka-python: 3.0.12 forgets
    for ever a join that a change of metadata started if a poll() ends while the JoinGroup is under way (need_rejoin() is false by then, and
    heartbeats are off), so who changes metadata polls long. `listens`: does it subscribe with a listener? `commit_revoked`: the listener
    of a cooperative member commits where it was, as docs/how-to/cooperative.md has it. `options`: more of the library's own, by its names.
    """

    library: str
    name: str
    bootstrap: str
    group: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assignors: tuple[str, ...] = (RANGE,)
    settings: dict[str, Any] = {}
    twin: bool = False
    protocol: str = CLASSIC
    instance: str | None = None
    session_ms: int = 2000
    heartbeat_ms: int = 200
    commit_ms: int | None = 500
    metadata_ms: int = 500
    poll_ms: int = 500
    listens: bool = True
    commit_revoked: bool = True
    options: dict[str, Any] = {}

    def python_options(self) -> dict[str, Any]:
        """What the consumers of aiokafka and kafka-python call alike."""
        return {
            "bootstrap_servers": self.bootstrap, "group_id": self.group, "group_instance_id": self.instance, "client_id": self.name,
            "auto_offset_reset": "earliest", "enable_auto_commit": self.commit_ms is not None,
            "auto_commit_interval_ms": self.commit_ms or 5000, "session_timeout_ms": self.session_ms,
            "heartbeat_interval_ms": self.heartbeat_ms, "metadata_max_age_ms": self.metadata_ms, "fetch_max_wait_ms": FETCH_MS,
            **self.options,
        }  # fmt: skip
