"""Every topic config of Kafka 4.3.0: type, default, the broker config behind it, bounds. Data, read by `configs.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

BOOLEAN: Final = 1
STRING: Final = 2
INT: Final = 3
LONG: Final = 5
DOUBLE: Final = 6
LIST: Final = 7
KIND_NAMES: Final = {BOOLEAN: "BOOLEAN", STRING: "STRING", INT: "INT", LONG: "LONG", DOUBLE: "DOUBLE", LIST: "LIST"}
LONG_MAX: Final = 2**63 - 1
INT_MAX: Final = 2**31 - 1

Check = Callable[[str], str | None]


class ConfigKey(NamedTuple):
    """One topic config. `synonym`: the broker config its default comes from; `refuse`: what is wrong with a value (of a LIST: an entry)."""

    name: str
    kind: int
    default: str
    synonym: str | None
    refuse: Check
    about: str


def _fine(_: str) -> str | None:
    return None


def _at_least(lowest: float) -> Check:
    def check(value: str) -> str | None:
        return None if float(value) >= lowest else f"Value must be at least {lowest}"

    return check


def _between(lowest: float, highest: float) -> Check:
    def check(value: str) -> str | None:
        if float(value) < lowest:
            return f"Value must be at least {lowest}"
        return None if float(value) <= highest else f"Value must be no more than {highest}"

    return check


def _one_of(*words: str) -> Check:
    def check(value: str) -> str | None:
        return None if value in words else f"String must be one of: {', '.join(words)}"

    return check


TOPIC_CONFIGS: Final = {
    key.name: key
    for key in (
        ConfigKey(
            "cleanup.policy",
            LIST,
            "delete",
            "log.cleanup.policy",
            _one_of("compact", "delete"),
            "Drop old records, or keep the newest of each key, or both. Kept and returned; groupmock does not compact.",
        ),
        ConfigKey(
            "compression.gzip.level",
            INT,
            "-1",
            "compression.gzip.level",
            _between(-1, 9),
            "Level of gzip when the broker compresses anew.",
        ),
        ConfigKey(
            "compression.lz4.level",
            INT,
            "9",
            "compression.lz4.level",
            _between(1, 17),
            "Level of lz4 when the broker compresses anew.",
        ),
        ConfigKey(
            "compression.type",
            STRING,
            "producer",
            "compression.type",
            _one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
            "Compression of stored batches. groupmock keeps what the producer sent.",
        ),
        ConfigKey(
            "compression.zstd.level",
            INT,
            "3",
            "compression.zstd.level",
            _between(-131072, 22),
            "Level of zstd when the broker compresses anew.",
        ),
        ConfigKey(
            "delete.retention.ms",
            LONG,
            "86400000",
            "log.cleaner.delete.retention.ms",
            _at_least(0),
            "How long tombstones of a compacted topic stay.",
        ),
        ConfigKey(
            "file.delete.delay.ms",
            LONG,
            "60000",
            "log.segment.delete.delay.ms",
            _at_least(0),
            "Wait before a deleted file leaves the disk.",
        ),
        ConfigKey(
            "flush.messages",
            LONG,
            str(LONG_MAX),
            "log.flush.interval.messages",
            _at_least(1),
            "Records after which a log is forced to disk.",
        ),
        ConfigKey("flush.ms", LONG, str(LONG_MAX), None, _at_least(0), "Time after which a log is forced to disk."),
        ConfigKey("follower.replication.throttled.replicas", LIST, "", None, _fine, "Replicas whose followers are throttled."),
        ConfigKey(
            "index.interval.bytes",
            INT,
            "4096",
            "log.index.interval.bytes",
            _at_least(0),
            "Bytes between two entries of the offset index.",
        ),
        ConfigKey("leader.replication.throttled.replicas", LIST, "", None, _fine, "Replicas whose leaders are throttled."),
        ConfigKey(
            "local.retention.bytes",
            LONG,
            "-2",
            "log.local.retention.bytes",
            _at_least(-2),
            "Bytes kept locally under tiered storage; -2: retention.bytes.",
        ),
        ConfigKey(
            "local.retention.ms",
            LONG,
            "-2",
            "log.local.retention.ms",
            _at_least(-2),
            "Time kept locally under tiered storage; -2: retention.ms.",
        ),
        ConfigKey(
            "max.compaction.lag.ms",
            LONG,
            str(LONG_MAX),
            "log.cleaner.max.compaction.lag.ms",
            _at_least(1),
            "Longest a record may stay uncompacted.",
        ),
        ConfigKey("max.message.bytes", INT, "1048588", "message.max.bytes", _at_least(0), "Largest record batch the topic takes."),
        ConfigKey(
            "message.timestamp.after.max.ms",
            LONG,
            "3600000",
            "log.message.timestamp.after.max.ms",
            _at_least(0),
            "How far a record's timestamp may lie in the future.",
        ),
        ConfigKey(
            "message.timestamp.before.max.ms",
            LONG,
            str(LONG_MAX),
            "log.message.timestamp.before.max.ms",
            _at_least(0),
            "How far a record's timestamp may lie in the past.",
        ),
        ConfigKey(
            "message.timestamp.type",
            STRING,
            "CreateTime",
            "log.message.timestamp.type",
            _one_of("CreateTime", "LogAppendTime"),
            "Whose clock stamps records: the producer's or the broker's.",
        ),
        ConfigKey(
            "min.cleanable.dirty.ratio",
            DOUBLE,
            "0.5",
            "log.cleaner.min.cleanable.ratio",
            _between(0, 1),
            "Share of a log that must be dirty before it is compacted.",
        ),
        ConfigKey(
            "min.compaction.lag.ms",
            LONG,
            "0",
            "log.cleaner.min.compaction.lag.ms",
            _at_least(0),
            "Shortest time a record stays uncompacted.",
        ),
        ConfigKey(
            "min.insync.replicas",
            INT,
            "1",
            "min.insync.replicas",
            _at_least(1),
            "Replicas that must be in sync for acks=all; here all always are.",
        ),
        ConfigKey("preallocate", BOOLEAN, "false", "log.preallocate", _fine, "Allocate a segment's file ahead."),
        ConfigKey("remote.log.copy.disable", BOOLEAN, "false", None, _fine, "Stop copying to tiered storage."),
        ConfigKey("remote.log.delete.on.disable", BOOLEAN, "false", None, _fine, "Delete tiered data when it is switched off."),
        ConfigKey("remote.storage.enable", BOOLEAN, "false", None, _fine, "Tiered storage; groupmock has none."),
        ConfigKey(
            "retention.bytes",
            LONG,
            "-1",
            "log.retention.bytes",
            _fine,
            "Bytes kept per partition; -1: all. The oldest batches go first.",
        ),
        ConfigKey(
            "retention.ms",
            LONG,
            "604800000",
            None,
            _at_least(-1),
            "Age at which records are dropped. Kept and returned; groupmock drops by bytes only.",
        ),
        ConfigKey("segment.bytes", INT, "1073741824", "log.segment.bytes", _at_least(1048576), "Size of one segment file."),
        ConfigKey("segment.index.bytes", INT, "10485760", "log.index.size.max.bytes", _at_least(4), "Size of a segment's offset index."),
        ConfigKey("segment.jitter.ms", LONG, "0", None, _at_least(0), "Random part taken off segment.ms."),
        ConfigKey("segment.ms", LONG, "604800000", None, _at_least(1), "Age at which a segment is rolled."),
        ConfigKey(
            "unclean.leader.election.enable",
            BOOLEAN,
            "false",
            "unclean.leader.election.enable",
            _fine,
            "May a replica that is not in sync lead?",
        ),
    )
}


def split_list(value: str) -> list[str]:
    """A LIST config's entries."""
    return [part.strip() for part in value.split(",")] if value.strip() else []
