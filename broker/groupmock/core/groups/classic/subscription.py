"""Which topics a consumer group uses: the v0 prefix of each member's Subscription, read as ClassicGroup.computeSubscribedTopics reads it.

The coordinator is lenient where bytes simply end and falls over where a count or a length points beyond them: then the end of the
join phase fails (P1-b5). `Malformed` is that case. OffsetDelete (86) and the sweep of expired offsets ask, both seldom: it is read then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

MOST_TOPICS: Final = 100_000
"""So many topics of all members are read (40 ms); those of a group that names more are unknown, hence all."""


class Malformed(ValueError):
    """An array count or a length points beyond the buffer: what makes Kafka's join phase fail."""


SMALLEST_NAME: Final = 2  # its length


class _Ends(Exception):
    """The buffer ends inside a fixed-width field: harmless in Kafka, the topics are unknown."""


class Subscribed:
    """The topics of one generation, read from the members' metadata when somebody asks. `topics` None: unknown, hence all."""

    __slots__ = ("_metadata", "_topics")

    def __init__(self, metadata: Iterable[bytes] | None, topics: frozenset[str] | None = None) -> None:
        self._metadata = None if metadata is None else tuple(metadata)
        self._topics = topics

    @property
    def unread(self) -> int:
        """How many names `topics` will have to read, as the members claim; 0 once it has."""
        if self._metadata is None:
            return 0
        return sum([min(int.from_bytes(one[2:6]), len(one) // SMALLEST_NAME) for one in self._metadata])

    @property
    def topics(self) -> frozenset[str] | None:
        """The union over all members; None when one of them cannot be read."""
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
        for one in dict.fromkeys(metadata):  # members of one program say the same
            found = read_topics(one, left)
            if found is None:
                return None
            left -= len(found)
            topics.update(found)
    except Malformed:
        return None
    return frozenset(topics)


def read_topics(metadata: bytes, most: int = MOST_TOPICS) -> list[str] | None:
    """The topics of one Subscription; None when its bytes just end or name more than `most`; raises Malformed for a count or length
    beyond them."""
    try:
        return _read(metadata, most)
    except _Ends:
        return None


def _read(data: bytes, most: int) -> list[str]:
    _int(data, 0, 2)  # the version: any, negative ones too, since only the v0 prefix is read
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
    if user_data > len(data) - at:  # null (-1) is fine, and so is what follows: later versions put fields there
        raise Malformed(f"user data of {user_data} bytes where {len(data) - at} are left")
    return topics


def _int(data: bytes, at: int, size: int) -> int:
    if at + size > len(data):
        raise _Ends
    return int.from_bytes(data[at : at + size], "big", signed=True)
