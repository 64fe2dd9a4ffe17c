"""The topics of a group are read from the subscriptions of its members, which may be megabytes in size."""

from __future__ import annotations

import struct

import pytest

from groupmock.core.groups.classic.subscription import MOST_TOPICS, Malformed, Subscribed, read_topics


def says(count: int, name: bytes = b"") -> bytes:
    """Return a Subscription with `count` topics of that name."""
    return struct.pack(">hi", 0, count) + (struct.pack(">h", len(name)) + name) * count + struct.pack(">i", -1)


def test_the_topics_of_a_group_are_read_up_to_a_bound() -> None:
    assert Subscribed([says(2, b"a"), says(1, b"b")]).topics == frozenset("ab")
    # Above the limit the topics are unknown, so that a group with ten million topic names does not block the server for seconds.
    assert Subscribed([says(MOST_TOPICS + 1)]).topics is None
    assert Subscribed([says(MOST_TOPICS - 1, b"a"), says(2, b"b")]).topics is None
    assert Subscribed([says(MOST_TOPICS - 1, b"a"), says(1, b"b")]).topics == frozenset("ab")


def test_members_that_say_the_same_are_read_once() -> None:
    assert Subscribed([says(1000, b"a")] * 1000).topics == frozenset("a")


def test_a_count_beyond_the_bytes_stays_malformed() -> None:
    with pytest.raises(Malformed):
        read_topics(struct.pack(">hi", 0, MOST_TOPICS * 2) + bytes(10))
