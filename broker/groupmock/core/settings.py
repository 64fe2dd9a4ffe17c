"""The knobs of the core under Kafka's own names, and its release quirks. Declared here once; `groupmock.config` reads names, types,
defaults and the sentences from these annotations, so that CLI, TOML, environment and docs cannot drift.

`Annotated[type, knob("kafka.name", "what it does", lowest, highest)]`; times are milliseconds, sizes bytes.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import msgspec

INT_MAX = 2**31 - 1


class Knob(NamedTuple):
    """Documentation and bounds of one setting."""

    name: str
    about: str
    lowest: int | None = None
    highest: int | None = None


def knob(name: str, about: str, lowest: int | None = None, highest: int | None = INT_MAX) -> Knob:
    """Declare a setting: its Kafka name, one sentence, inclusive bounds for numbers."""
    return Knob(name, about, lowest, highest)


class Quirks(msgspec.Struct, frozen=True):
    """Behaviour of older releases, one named flag per row of spec 2.15 / checked-on-brokers (c). All false: Kafka 4.3.0."""

    # Filled by the group, offsets and admin behaviours: each flag's comment names its row.


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the core may ask about its configuration. Defaults are groupmock's own profile: Kafka's, but quick to start."""

    group_min_session_timeout_ms: Annotated[int, knob("group.min.session.timeout.ms", "smallest session timeout a member may ask for", 0)] = 100
    group_max_session_timeout_ms: Annotated[int, knob("group.max.session.timeout.ms", "largest session timeout a member may ask for", 0)] = 1_800_000
    group_initial_rebalance_delay_ms: Annotated[
        int, knob("group.initial.rebalance.delay.ms", "how long the first rebalance of an empty group waits for more members", 0)
    ] = 100
    group_max_size: Annotated[int, knob("group.max.size", "most members one group may have", 1)] = INT_MAX
    offset_metadata_max_bytes: Annotated[int, knob("offset.metadata.max.bytes", "longest metadata of one commit, in UTF-16 units", 0)] = 4096
    offsets_retention_minutes: Annotated[int, knob("offsets.retention.minutes", "how long offsets outlive their group or commit", 1)] = 10080
    offsets_retention_check_interval_ms: Annotated[
        int, knob("offsets.retention.check.interval.ms", "how often expired offsets and empty groups are swept", 1)
    ] = 600_000
    offsets_topic_num_partitions: Annotated[
        int, knob("offsets.topic.num.partitions", "partitions of __consumer_offsets: groups are placed by hash", 1)
    ] = 50
    num_partitions: Annotated[int, knob("num.partitions", "partitions of an auto-created topic", 1)] = 1
    default_replication_factor: Annotated[int, knob("default.replication.factor", "replicas of an auto-created topic", 1)] = 1
    auto_create_topics_enable: Annotated[bool, knob("auto.create.topics.enable", "create a topic that a client asks for")] = True
    message_max_bytes: Annotated[int, knob("message.max.bytes", "largest record batch a topic takes", 0)] = 1_048_588
    log_retention_bytes: Annotated[int, knob("log.retention.bytes", "bytes kept per partition (-1: all); the oldest batches go first", -1)] = (
        64 * 1024 * 1024
    )
    fetch_max_bytes: Annotated[int, knob("fetch.max.bytes", "most bytes of one fetch answer", 1024)] = 57_671_680
    max_incremental_fetch_session_cache_slots: Annotated[
        int, knob("max.incremental.fetch.session.cache.slots", "most incremental fetch sessions kept", 0)
    ] = 1000
    quirks: Quirks = Quirks()
