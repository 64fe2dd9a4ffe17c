"""The byte queue of a connection, by itself: frames in order with their times, chunks cut when their turn comes, what it counts."""

from __future__ import annotations

import pytest

from groupmock.net.inbox import CHUNK_OVERHEAD, Inbox
from groupmock.rig.wire import framed
from groupmock_codec.frame import FrameError


def stream(*payloads: bytes) -> bytes:
    return b"".join(map(framed, payloads))


def test_frames_come_out_in_order_with_the_time_of_their_last_byte() -> None:
    inbox = Inbox(100)
    inbox.cut(stream(b"one", b"two") + stream(b"three")[:6], 10)
    assert (inbox.waiting, inbox.cut_bytes) == (2 * (3 + CHUNK_OVERHEAD), 6)
    assert [inbox.pop(), inbox.pop(), inbox.pop()] == [(10, b"one"), (10, b"two"), None]
    inbox.cut(stream(b"three")[6:], 20)
    assert inbox.pop() == (20, b"three")
    assert inbox.empty and inbox.waiting == inbox.cut_bytes == 0


def test_chunks_are_cut_only_when_all_before_them_was_popped() -> None:
    inbox = Inbox(100)
    inbox.cut(stream(b"one"), 10)
    inbox.keep(stream(b"two")[:5], 20)
    inbox.keep(stream(b"two")[5:], 30)
    assert inbox.waiting == 3 + 7 + 3 * CHUNK_OVERHEAD and inbox.cut_bytes == 0
    assert inbox.pop() == (10, b"one")
    assert inbox.cut_bytes == 0, "a chunk that nobody came for is not looked at"
    assert inbox.pop() == (30, b"two")
    assert inbox.empty


def test_a_bad_length_is_found_behind_the_good_frames() -> None:
    """Kafka answers what came before it and then closes."""
    inbox = Inbox(100)
    inbox.cut(stream(b"good") + (101).to_bytes(4, "big"), 10)
    assert inbox.pop() == (10, b"good")
    with pytest.raises(FrameError, match="101 is outside"):
        inbox.pop()
    assert not inbox.empty
