"""Reads the topics to which the members of a classic group subscribe, like ClassicGroup.computeSubscribedTopics.

The coordinator accepts bytes that end too early, but fails if a count or a length exceeds them. Then the end of the join phase fails
(P1-b5), which is `Malformed`. Topics are read only when they are needed, which is seldom: by OffsetDelete (for GROUP_SUBSCRIBED_TO_TOPIC,
86) and by the sweep of expired offsets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

MOST_TOPICS: Final = 100_000
"""At most this number of topic names of all members is read, which takes 40 ms. In groups with more, the topics are unknown, which
counts as all."""


class Malformed(ValueError):
    """An array count or a length in the metadata exceeds the buffer, which makes Kafka's join phase fail."""


SMALLEST_NAME: Final = 2  # A topic name takes at least these two bytes, for its length field.


class _Ends(Exception):
    """The buffer ends inside a fixed-width field. Kafka tolerates this: the subscribed topics are then unknown."""


class Subscribed:
    """The topics of one generation, which are read from the members' metadata at the first access. `topics` is None if they are unknown,
    which counts as all."""

    __slots__ = ("_metadata", "_topics")

    def __init__(self, metadata: Iterable[bytes] | None, topics: frozenset[str] | None = None) -> None:
        self._metadata = None if metadata is None else tuple(metadata)
        self._topics = topics

    @property
    def unread(self) -> int:
        """Return how many topic names the first access to `topics` will read, or 0 after it."""
        if self._metadata is None:
            return 0
        return sum([min(int.from_bytes(one[2:6]), len(one) // SMALLEST_NAME) for one in self._metadata])

    @property
    def topics(self) -> frozenset[str] | None:
        """Return the subscribed topics of all members, or None if one member's Subscription cannot be read."""
        if self._metadata is not None:
            self._topics = _union(self._metadata)
            self._metadata = None
        return self._topics


UNKNOWN: Final = Subscribed(None)
NO_TOPICS: Final = Subscribed(None, frozenset())


def _union(metadata: tuple[bytes, ...]) -> frozenset[str] | None:
    topics: set[str] = set()
    left = MOST_TOPICS
    try:
        # Equal metadata is read once, because members that run the same program send the same metadata.
        for one in dict.fromkeys(metadata):
            found = read_topics(one, left)
            if found is None:
                return None
            left -= len(found)
            topics.update(found)
    except Malformed:
        return None
    return frozenset(topics)


def read_topics(metadata: bytes, most: int = MOST_TOPICS) -> list[str] | None:
    """Return the topics of one Subscription, or None if its bytes end too early or it has more than `most`. Raises Malformed for a count
    or length that exceeds the bytes."""
    try:
        return _read(metadata, most)
    except _Ends:
        return None


def _read(data: bytes, most: int) -> list[str]:
    _int(data, 0, 2)  # The version of the Subscription may be any number, even negative, because only the v0 prefix is read.
    count, at = _int(data, 2, 4), 6
    if not 0 <= count <= len(data) - at:
        raise Malformed(f"{count} topics in {len(data) - at} bytes")
    if count > most:
        raise _Ends
    topics = []
    for _ in range(count):
        length, at = _int(data, at, 2), at + 2
        if not 0 <= length <= len(data) - at:
            raise Malformed(f"a topic of {length} bytes where {len(data) - at} are left")
        topics.append(data[at : at + length].decode("utf-8", "replace"))
        at += length
    user_data, at = _int(data, at, 4), at + 4
    # Null user data (-1) are accepted, and so are later bytes, because later versions have more fields.
    if user_data > len(data) - at:
        raise Malformed(f"user data of {user_data} bytes where {len(data) - at} are left")
    return topics


def _int(data: bytes, at: int, size: int) -> int:
    if at + size > len(data):
        raise _Ends
    return int.from_bytes(data[at : at + size], "big", signed=True)
