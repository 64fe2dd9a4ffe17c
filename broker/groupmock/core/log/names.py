"""The rules for topic names, and Kafka's messages for invalid ones."""

from __future__ import annotations

from typing import Final

# A partition's directory is named after the topic, '-' and a number, and file systems allow 255 characters (KAFKA-3219)
LONGEST: Final = 249
OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTION_TOPIC: Final = "__transaction_state"
INTERNAL: Final = frozenset({OFFSETS_TOPIC, TRANSACTION_TOPIC, "__share_group_state"})
_LEGAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def why_invalid(name: str) -> str | None:
    """Return the text of Kafka's INVALID_TOPIC_EXCEPTION for the name, or None if the name is valid."""
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
    """Return the name as Kafka's metric names print it, with '.' and '_' alike. Two topic names collide if these are equal."""
    return name.replace(".", "_")
