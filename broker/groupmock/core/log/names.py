"""Which topic names Kafka takes, and in which words it refuses the others."""

from __future__ import annotations

from typing import Final

# A partition's directory is called after the topic, '-' and a number, and file systems take 255 characters (KAFKA-3219)
LONGEST: Final = 249
OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTION_TOPIC: Final = "__transaction_state"
INTERNAL: Final = frozenset({OFFSETS_TOPIC, TRANSACTION_TOPIC, "__share_group_state"})
_LEGAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def why_invalid(name: str) -> str | None:
    """The text Kafka's INVALID_TOPIC_EXCEPTION carries for that name; None: the name is fine."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > LONGEST:
        return f"the length of '{name}' is longer than the max allowed length {LONGEST}"
    if not _LEGAL.issuperset(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


def metric_name(name: str) -> str:
    """Two names collide when these are equal: Kafka's metric names print '.' and '_' alike."""
    return name.replace(".", "_")
