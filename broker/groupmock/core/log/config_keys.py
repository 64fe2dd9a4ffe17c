"""Lists every topic config of Kafka 4.4.0, 4.3.0, 3.9.1 and 2.8.2 with its type, default, bounds, and the broker config of the default."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ..java.numbers import double, double_text, trimmed, whole_number
from .value_checks import Check, ListCheck, at_least, bad_value, between, compression_level, fine, one_of, words, words_or_nothing

if TYPE_CHECKING:
    from ..settings import Quirks

BOOLEAN: Final = 1
STRING: Final = 2
INT: Final = 3
SHORT: Final = 4
LONG: Final = 5
DOUBLE: Final = 6
LIST: Final = 7
CLASS: Final = 8
PASSWORD: Final = 9
KINDS: Final = {
    "BOOLEAN": BOOLEAN,
    "STRING": STRING,
    "INT": INT,
    "SHORT": SHORT,
    "LONG": LONG,
    "DOUBLE": DOUBLE,
    "LIST": LIST,
    "CLASS": CLASS,
    "PASSWORD": PASSWORD,
}
KIND_NAMES: Final = {kind: name for name, kind in KINDS.items()}
BITS: Final = {SHORT: 15, INT: 31, LONG: 63}
LONG_MAX: Final = 2**63 - 1
INT_MAX: Final = 2**31 - 1
_REPLICA: Final = re.compile(r"([0-9]+:[0-9]+)?")


class ConfigKey(NamedTuple):
    """A topic config, whose default comes from the broker config `synonym`. `refuse` checks a value and `refuse_list` a LIST. With
    `distinct`, equal entries of a LIST count once."""

    name: str
    kind: int
    default: str
    synonym: str | None
    refuse: Check
    about: str
    refuse_list: ListCheck | None = None
    distinct: bool = False


def _replicas(name: str, entries: Sequence[str]) -> str | None:
    if "".join(entries) == "*" or all(_REPLICA.fullmatch(entry) for entry in entries):
        return None
    form = "[partitionId]:[brokerId]"
    return bad_value(
        name, f"[{', '.join(entries)}]", f"{name} must be the literal '*' or a list of replicas in the following format: {form},{form},..."
    )


TOPIC_CONFIGS: Final = {
    key.name: key
    for key in (
        ConfigKey(
            "cleanup.policy",
            LIST,
            "delete",
            "log.cleanup.policy",
            fine,
            "Drop old records, or keep the newest of each key, or both. groupmock compacts when it is told to (`groupmock topic compact`).",
            words_or_nothing("compact", "delete"),
            distinct=True,
        ),
        ConfigKey(
            "compression.gzip.level",
            INT,
            "-1",
            "compression.gzip.level",
            compression_level(1, 9),
            "Level of gzip when the broker compresses anew.",
        ),
        ConfigKey(
            "compression.lz4.level",
            INT,
            "9",
            "compression.lz4.level",
            between(1, 17),
            "Level of lz4 when the broker compresses anew.",
        ),
        ConfigKey(
            "compression.type",
            STRING,
            "producer",
            "compression.type",
            one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
            "Compression of stored batches. groupmock keeps what the producer sent.",
        ),
        ConfigKey(
            "compression.zstd.level",
            INT,
            "3",
            "compression.zstd.level",
            between(-131072, 22),
            "Level of zstd when the broker compresses anew.",
        ),
        ConfigKey(
            "delete.retention.ms",
            LONG,
            "86400000",
            "log.cleaner.delete.retention.ms",
            at_least(0),
            "How long tombstones of a compacted topic stay.",
        ),
        ConfigKey(
            "file.delete.delay.ms",
            LONG,
            "60000",
            "log.segment.delete.delay.ms",
            at_least(0),
            "Wait before a deleted file leaves the disk.",
        ),
        ConfigKey(
            "flush.messages",
            LONG,
            str(LONG_MAX),
            "log.flush.interval.messages",
            at_least(1),
            "Records after which a log is forced to disk.",
        ),
        ConfigKey("flush.ms", LONG, str(LONG_MAX), "log.flush.interval.ms", at_least(0), "Time after which a log is forced to disk."),
        ConfigKey("follower.replication.throttled.replicas", LIST, "", None, fine, "Replicas whose followers are throttled.", _replicas),
        ConfigKey(
            "index.interval.bytes",
            INT,
            "4096",
            "log.index.interval.bytes",
            at_least(0),
            "Bytes between two entries of the offset index.",
        ),
        ConfigKey("leader.replication.throttled.replicas", LIST, "", None, fine, "Replicas whose leaders are throttled.", _replicas),
        ConfigKey(
            "local.retention.bytes",
            LONG,
            "-2",
            "log.local.retention.bytes",
            at_least(-2),
            "Bytes kept locally under tiered storage; -2: retention.bytes.",
        ),
        ConfigKey(
            "local.retention.ms",
            LONG,
            "-2",
            "log.local.retention.ms",
            at_least(-2),
            "Time kept locally under tiered storage; -2: retention.ms.",
        ),
        ConfigKey(
            "max.compaction.lag.ms",
            LONG,
            str(LONG_MAX),
            "log.cleaner.max.compaction.lag.ms",
            at_least(1),
            "Longest time that a record may stay uncompacted.",
        ),
        # The default is 1 MiB plus the 12 bytes before a batch that the batch's length does not count (Records.LOG_OVERHEAD).
        ConfigKey("max.message.bytes", INT, "1048588", "message.max.bytes", at_least(0), "Largest record batch the topic takes."),
        ConfigKey(
            "message.timestamp.after.max.ms",
            LONG,
            "3600000",
            "log.message.timestamp.after.max.ms",
            at_least(0),
            "How far a record's timestamp may lie in the future.",
        ),
        ConfigKey(
            "message.timestamp.before.max.ms",
            LONG,
            str(LONG_MAX),
            "log.message.timestamp.before.max.ms",
            at_least(0),
            "How far a record's timestamp may lie in the past.",
        ),
        ConfigKey(
            "message.timestamp.type",
            STRING,
            "CreateTime",
            "log.message.timestamp.type",
            one_of("CreateTime", "LogAppendTime"),
            "The clock of record timestamps: the producer's or the broker's.",
        ),
        ConfigKey(
            "min.cleanable.dirty.ratio",
            DOUBLE,
            "0.5",
            "log.cleaner.min.cleanable.ratio",
            between(0, 1),
            "Share of a log that must be dirty before it is compacted.",
        ),
        ConfigKey(
            "min.compaction.lag.ms",
            LONG,
            "0",
            "log.cleaner.min.compaction.lag.ms",
            at_least(0),
            "Shortest time a record stays uncompacted.",
        ),
        ConfigKey(
            "min.insync.replicas",
            INT,
            "1",
            "min.insync.replicas",
            at_least(1),
            "Replicas that must be in sync for acks=all.",
        ),
        ConfigKey("preallocate", BOOLEAN, "false", "log.preallocate", fine, "Allocate a segment's file ahead."),
        ConfigKey("remote.log.copy.disable", BOOLEAN, "false", None, fine, "Stop copying to tiered storage."),
        ConfigKey("remote.log.delete.on.disable", BOOLEAN, "false", None, fine, "Delete tiered data when it is switched off."),
        ConfigKey("remote.storage.enable", BOOLEAN, "false", None, fine, "Tiered storage; groupmock has none."),
        ConfigKey(
            "retention.bytes",
            LONG,
            "-1",
            "log.retention.bytes",
            fine,
            "Bytes kept per partition; -1: all. The oldest batches go first.",
        ),
        ConfigKey(
            "retention.ms",
            LONG,
            "604800000",
            "log.retention.ms",
            at_least(-1),
            "Age at which records are deleted, by whole segments; -1: any age.",
        ),
        ConfigKey("segment.bytes", INT, "1073741824", "log.segment.bytes", at_least(1048576), "Size of one segment file."),
        ConfigKey("segment.index.bytes", INT, "10485760", "log.index.size.max.bytes", at_least(4), "Size of a segment's offset index."),
        ConfigKey("segment.jitter.ms", LONG, "0", "log.roll.jitter.ms", at_least(0), "Random part taken off segment.ms."),
        ConfigKey("segment.ms", LONG, "604800000", "log.roll.ms", at_least(1), "Age at which a segment is rolled."),
        ConfigKey(
            "unclean.leader.election.enable",
            BOOLEAN,
            "false",
            "unclean.leader.election.enable",
            fine,
            "Whether a replica that is not in sync may lead.",
        ),
    )
}


def split_list(value: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if (text := trimmed(value)) else []


def java_split(value: str) -> list[str]:
    """Split the text like Java's `String.split(",")`, which drops empty entries at the end, but keeps one entry for an empty string."""
    parts = value.split(",")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts if parts != [""] or not value else []


def written(key: ConfigKey, value: str) -> str:
    """Return a valid value in the form in which Kafka prints it after parsing: 5 for " +05", true for TRUE, 0.5 for 5e-1."""
    if key.kind == LIST:
        entries = split_list(value)
        return ",".join(dict.fromkeys(entries) if key.distinct else entries)
    text = trimmed(value)
    if key.kind in BITS:
        return str(whole_number(text, BITS[key.kind]))
    if key.kind == DOUBLE:
        number = double(text)
        return text if number is None else double_text(number)
    return text.lower() if key.kind == BOOLEAN else text


def number_of(value: str) -> int:
    """Return the number in a valid value, which may have blanks, leading zeros, and digits of any script."""
    return whole_number(trimmed(value), BITS[LONG]) or 0


_CHECKED_FIRST: Final = (
    "segment.bytes",
    "segment.ms",
    "segment.jitter.ms",
    "segment.index.bytes",
    "flush.messages",
    "flush.ms",
    "retention.bytes",
    "retention.ms",
    "max.message.bytes",
    "index.interval.bytes",
    "delete.retention.ms",
    "min.compaction.lag.ms",
    "max.compaction.lag.ms",
    "file.delete.delay.ms",
    "min.cleanable.dirty.ratio",
    "cleanup.policy",
    "unclean.leader.election.enable",
    "min.insync.replicas",
    "compression.type",
)
CHECKED: Final = (*_CHECKED_FIRST, *(name for name in TOPIC_CONFIGS if name not in _CHECKED_FIRST))
"""The configs in the order in which Kafka checks values, because only the first bad value is reported."""

# Kafka 4 dropped these configs with the old record formats (KIP-724, KIP-937), and narrowed these bounds and defaults (KIP-1030).
_BEFORE_4: Final = (
    ConfigKey("message.downconversion.enable", BOOLEAN, "true", "log.message.downconversion.enable", fine, "Kept and returned."),
    ConfigKey("message.format.version", STRING, "3.0-IV1", "log.message.format.version", fine, "Kept and returned."),
    ConfigKey(
        "message.timestamp.difference.max.ms",
        LONG,
        str(LONG_MAX),
        "log.message.timestamp.difference.max.ms",
        at_least(0),
        "Kept and returned.",
    ),
    TOPIC_CONFIGS["message.timestamp.after.max.ms"]._replace(default=str(LONG_MAX)),
    TOPIC_CONFIGS["segment.bytes"]._replace(refuse=at_least(14)),
    TOPIC_CONFIGS["cleanup.policy"]._replace(refuse_list=words("compact", "delete"), distinct=False),
)
TOPIC_CONFIGS_BEFORE_4: Final = dict(sorted({**TOPIC_CONFIGS, **{key.name: key for key in _BEFORE_4}}.items()))


_KEPT: Final = "Kept and returned: nothing here follows from it."
_SINCE_4_4: Final = (
    ConfigKey("errors.deadletterqueue.group.enable", BOOLEAN, "false", None, fine, _KEPT),
    ConfigKey("max.decompressed.message.bytes", INT, "2147483639", "max.decompressed.message.bytes", between(1, 2147483639), _KEPT),
    ConfigKey("remote.copy.lag.bytes", LONG, "-1", "log.remote.copy.lag.bytes", at_least(-1), _KEPT),
    ConfigKey("remote.copy.lag.ms", LONG, "0", "log.remote.copy.lag.ms", at_least(-1), _KEPT),
)
TOPIC_CONFIGS_SINCE_4_4: Final = dict(sorted({**TOPIC_CONFIGS, **{key.name: key for key in _SINCE_4_4}}.items()))


def topic_keys(quirks: Quirks) -> dict[str, ConfigKey]:
    """Return the topic configs of the release, in alphabetical order."""
    if quirks.topic_configs_before_4:
        return TOPIC_CONFIGS_BEFORE_4
    return TOPIC_CONFIGS if quirks.configs_before_4_4 else TOPIC_CONFIGS_SINCE_4_4
