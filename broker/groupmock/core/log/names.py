"""Checks topic names by Kafka's rules, with Kafka's messages for invalid names."""

from __future__ import annotations

from typing import Final

# The directory of a partition is named after the topic, '-' and a number, and file systems allow 255 characters (KAFKA-3219).
LONGEST: Final = 249
OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTION_TOPIC: Final = "__transaction_state"
SHARE_TOPIC: Final = "__share_group_state"
INTERNAL: Final = frozenset({OFFSETS_TOPIC, TRANSACTION_TOPIC, SHARE_TOPIC})
_LEGAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def why_invalid(name: str) -> str | None:
    """Return Kafka's message why the topic name is invalid (INVALID_TOPIC_EXCEPTION), or None for a valid name."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > LONGEST:
        return f"the length of '{name}' is longer than the max allowed length {LONGEST}"
    if not _LEGAL.issuperset(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


class PrintedNames:
    """Topic names as Kafka's metrics print them, with '_' for '.'. Two topics must not be printed alike (Topic.hasCollision)."""

    def __init__(self) -> None:
        self._topics: dict[str, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._topics)

    def collision(self, name: str) -> str | None:
        """Return a topic that is printed like this name, or None."""
        return next(iter(self._topics.get(_printed(name), ())), None) if "." in name or "_" in name else None

    def add(self, name: str) -> None:
        printed = _printed(name)
        self._topics[printed] = (*self._topics.get(printed, ()), name)

    def remove(self, name: str) -> None:
        printed = _printed(name)
        left = tuple(other for other in self._topics.pop(printed) if other != name)
        if left:
            self._topics[printed] = left


def _printed(name: str) -> str:
    return name.replace(".", "_")
