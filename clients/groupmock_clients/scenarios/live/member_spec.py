"""The parameters of a live member. Member processes import this module too, so it loads nothing but msgspec."""

from __future__ import annotations

from typing import Any, Final

import msgspec

RANGE: Final = "range"
ROUND_ROBIN: Final = "roundrobin"
STICKY: Final = "cooperative-sticky"
COOPERATIVE: Final = "cooperative"
DUAL: Final = "range-or-cooperative"
"""The name of the migration from range to cooperative by a single assignor (cooperative.aiokafka.RangeOrCooperative)."""
CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
FETCH_MS: Final = 100
LIBRARIES: Final = ("aiokafka", "kafka-python", "confluent-kafka")


class MemberSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of one live member. `name` is its client id, which identifies its requests in the journal. Times are in ms.

    `protocol` is group.protocol. Only confluent-kafka supports CONSUMER, and then the broker decides the assignor, sessions and heartbeats.
    `assignors` lists Kafka's names, best first, or COOPERATIVE or DUAL with `settings` of our assignor. `pattern` is a regular expression
    instead of topics. `commit_ms` None means no auto-commit. `poll_ms` matters to kafka-python: 3.0.12 forgets a join for ever that a
    change of metadata started if a poll() ends while the JoinGroup is pending (need_rejoin() is false by then, and heartbeats are off), so
    poll long when metadata change. `listens` says whether it subscribes with a listener. `commit_revoked`: the listener of a cooperative
    member commits its positions, as in docs/how-to/cooperative.md. `options` are further options of the library, by its names.
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
        """Return the options that aiokafka and kafka-python have in common."""
        return {
            "bootstrap_servers": self.bootstrap, "group_id": self.group, "group_instance_id": self.instance, "client_id": self.name,
            "auto_offset_reset": "earliest", "enable_auto_commit": self.commit_ms is not None,
            "auto_commit_interval_ms": self.commit_ms or 5000, "session_timeout_ms": self.session_ms,
            "heartbeat_interval_ms": self.heartbeat_ms, "metadata_max_age_ms": self.metadata_ms, "fetch_max_wait_ms": FETCH_MS,
            **self.options,
        }  # fmt: skip
