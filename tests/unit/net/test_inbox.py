"""The byte queue of a connection keeps frames in order with their arrival times, cuts chunks late, and counts its bytes."""

from __future__ import annotations

import pytest

from groupmock.net.inbox import CHUNK_OVERHEAD, Inbox
from groupmock.rig.wire import framed
from groupmock_codec.frame import FrameError


def stream(*payloads: bytes) -> bytes:
    return b"".join(map(framed, payloads))


def test_frames_come_out_in_order_with_the_time_of_their_last_byte() -> None:
    inbox = Inbox(100)
    inbox.keep(stream(b"one", b"two") + stream(b"three")[:6], 10)
    assert (inbox.waiting, inbox.cut_bytes) == (7 + 7 + 6 + CHUNK_OVERHEAD, 0)
    assert [inbox.pop(), inbox.pop(), inbox.pop()] == [(10, b"one"), (10, b"two"), None]
    assert (inbox.waiting, inbox.cut_bytes) == (0, 6)
    inbox.keep(stream(b"three")[6:], 20)
    assert inbox.pop() == (20, b"three")
    assert inbox.empty and inbox.waiting == inbox.cut_bytes == 0


def test_chunks_are_cut_only_when_all_before_them_was_popped() -> None:
    inbox = Inbox(100)
    inbox.keep(stream(b"one") + stream(b"two")[:5], 10)
    inbox.keep(stream(b"two")[5:], 30)
    assert inbox.waiting == 7 + 5 + 2 + 2 * CHUNK_OVERHEAD and inbox.cut_bytes == 0
    assert inbox.pop() == (10, b"one")
    assert (inbox.waiting, inbox.cut_bytes) == (5 + 2 + 2 * CHUNK_OVERHEAD, 0), "bytes that nobody came for are not looked at"
    assert inbox.pop() == (30, b"two")
    assert inbox.empty


def test_a_frame_sent_byte_by_byte_is_one_frame() -> None:
    inbox = Inbox(100)
    sent = stream(b"", b"three")
    for received, at in enumerate(range(len(sent))):
        inbox.keep(sent[at : at + 1], received)
    assert [inbox.pop(), inbox.pop(), inbox.pop()] == [(3, b""), (12, b"three"), None]
    assert inbox.empty and inbox.waiting == 0


def test_a_bad_length_is_found_behind_the_good_frames() -> None:
    """Kafka answers the good frames first and then closes the connection."""
    inbox = Inbox(100)
    inbox.keep(stream(b"good") + (101).to_bytes(4, "big"), 10)
    assert inbox.pop() == (10, b"good")
    with pytest.raises(FrameError, match="101 is outside"):
        inbox.pop()
    assert not inbox.empty
