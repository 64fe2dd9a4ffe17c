"""The framer finds whole frames in reads of any size and refuses a bad length as soon as its four bytes have arrived."""

from __future__ import annotations

import pickle

import pytest
from cases import for_each
from found import packed
from hypothesis import given
from hypothesis import strategies as st
from properties.codec import FRAMES, framed
from searching import examples

from groupmock_codec.frame import SOCKET_REQUEST_MAX_BYTES, FrameError, Framer


def test_one_whole_frame() -> None:
    assert Framer().feed(framed(b"abc")) == [b"abc"]


def test_several_frames_in_one_read_and_an_empty_one() -> None:
    assert Framer().feed(framed(b"a", b"", b"bc")) == [b"a", b"", b"bc"]


@pytest.mark.property
@examples(100)
@given(bodies=st.lists(st.binary(max_size=40)), cuts=st.lists(st.integers(0, 400)))
def test_cuts_anywhere_make_no_difference(bodies: list[bytes], cuts: list[int]) -> None:
    FRAMES.check({"bodies": [packed(body) for body in bodies], "cuts": cuts})


def test_byte_by_byte() -> None:
    framer = Framer()
    assert [frame for byte in framed(b"abc", b"d") for frame in framer.feed(bytes((byte,)))] == [b"abc", b"d"]


@for_each("length", ["ffffffff", "80000000", "06400001", "7fffffff", b"GET ".hex(), "16030100"])
def test_bad_lengths_are_refused_with_their_four_bytes(length: str) -> None:
    framer = Framer()
    data = bytes.fromhex(length)
    assert framer.feed(data[:3]) == []
    with pytest.raises(FrameError) as caught:
        framer.feed(data[3:])
    assert caught.value.length == int.from_bytes(data, signed=True)
    with pytest.raises(FrameError):
        framer.feed(framed(b"too late"))


def test_the_greatest_length_waits() -> None:
    framer = Framer()
    assert framer.feed(SOCKET_REQUEST_MAX_BYTES.to_bytes(4) + b"few") == []
    assert framer.buffered == 7


def test_good_frames_before_a_bad_length_are_given_first() -> None:
    framer = Framer()
    assert framer.feed(framed(b"good") + b"\xff\xff\xff\xff") == [b"good"]
    assert framer.broken is not None
    with pytest.raises(FrameError):
        framer.feed(b"")


def test_the_limit_is_a_setting() -> None:
    assert Framer(limit=3).feed(framed(b"abc")) == [b"abc"]
    with pytest.raises(FrameError, match=r"frame length 4 is outside 0\.\.3 \(socket.request.max.bytes\)"):
        Framer(limit=3).feed(framed(b"abcd"))


def test_the_error_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(FrameError(-1, 5)))
    assert (error.length, error.limit) == (-1, 5)
