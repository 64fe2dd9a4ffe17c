"""The proxy cuts a byte stream into the same frames, and hides or passes on the same ones, however the stream arrives in pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupmock.record.cutting import KEPT_BYTES, MOST_AWAITED, Answers, Collected, Frames, Held, Requests
from groupmock_codec.frame import FrameError

WATCHED = frozenset({3, 10})


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted({place % (len(data) + 1) for place in places}), len(data)]
    return [data[low:high] for low, high in pairwise(edges) if low < high]


requests_of_few_keys = st.builds(lambda key, rest: bytes([0, key, 0, 1]) + rest, st.integers(0, 12), st.binary(max_size=30))
bodies = st.lists(st.binary(max_size=40) | requests_of_few_keys)
places = st.lists(st.integers(0, 10_000), max_size=20)


@given(bodies, places)
def test_the_same_requests_are_noticed_in_whatever_pieces(sent: list[bytes], cuts: list[int]) -> None:
    noticed: list[tuple[bytes, bytes]] = []
    requests = Requests(1000, WATCHED, lambda start, correlation: noticed.append((start, correlation)))
    for piece in cut(b"".join(map(framed, sent)), cuts):
        assert requests.look(piece)[0] == len(piece)
    assert noticed == [(body[:4], body[4:8]) for body in sent if len(body) >= 8 and int.from_bytes(body[:2], "big") in WATCHED]


@given(bodies, places, st.integers(-(2**31), -1) | st.integers(1001, 2**31 - 1))
def test_what_is_before_a_bad_length_is_good(sent: list[bytes], cuts: list[int], length: int) -> None:
    requests = Requests(1000, WATCHED, lambda start, correlation: None)
    good, bad = b"".join(map(framed, sent)), length.to_bytes(4, "big", signed=True) + b"rest"
    seen = 0
    for piece in cut(good + bad, cuts):
        fine, _ = requests.look(piece)
        seen += fine
        if fine < len(piece):
            refusal = requests.refusal(piece[fine:])
            assert (refusal.length, refusal.limit) == (length, 1000)
            break
    else:
        pytest.fail("the bad length was not seen")
    assert len(good) <= seen < len(good) + 4


@given(bodies, st.sets(st.integers(0, 10)), places)
def test_answers_are_handed_on_in_order_and_those_awaited_whole(sent: list[bytes], awaited: set[int], cuts: list[int]) -> None:
    out: list[bytes] = []
    whole: list[bytes] = []

    def took(frame: bytes) -> None:
        whole.append(frame)
        out.append(framed(frame))

    answers = Answers(1000, out.append, lambda what, size: Collected(took, size, Held(10_000)) if what else None)
    wanted = {sent[place][:4] for place in awaited if place < len(sent) and len(sent[place]) >= 4}
    for number, identifier in enumerate(sorted(wanted)):
        answers.wait_for(identifier, number % 3)
    stream = b"".join(map(framed, sent))
    for piece in cut(stream, cuts):
        at = 0
        while at < len(piece):
            piece, at = answers.feed(piece, at)
    assert b"".join(out) == stream
    first = {body[:4]: body for body in reversed(sent) if body[:4] in wanted}
    looked_at = {identifier for number, identifier in enumerate(sorted(wanted)) if number % 3}
    assert sorted(whole) == [first[identifier] for identifier in sorted(looked_at)]
    assert not answers.awaited


def test_bytes_pass_before_their_frame_is_whole() -> None:
    out: list[bytes] = []
    answers = Answers(1000, out.append, lambda what, size: None)
    answers.feed(framed(b"x" * 900)[:100])
    assert len(b"".join(out)) == 100


def test_an_answer_of_a_length_that_none_has_ends_it_behind_the_good_ones() -> None:
    out: list[bytes] = []
    answers = Answers(1000, out.append, lambda what, size: None)
    with pytest.raises(FrameError, match=r"frame length 1001 is outside 0\.\.1000"):
        answers.feed(framed(b"good") + (1001).to_bytes(4, "big"))
    assert out == [framed(b"good")]


@given(bodies, places, st.integers(0, 50))
def test_a_recording_reads_the_same_frames_in_whatever_pieces(sent: list[bytes], cuts: list[int], most: int) -> None:
    """The recorder may report only the head and the size of a frame that is longer than its limit."""
    held = Held(10_000)
    frames, read = Frames(held, most), []
    for piece in cut(b"".join(map(framed, sent)), cuts):
        at = 0
        while at < len(piece):
            frame, at = frames.next(piece, at)
            if frame is not None:
                read.append((frame, frames.size))
    assert [size for _, size in read] == [len(body) for body in sent]
    assert all(body.startswith(frame) for body, (frame, _) in zip(sent, read, strict=True))
    assert all(frame == body for body, (frame, _) in zip(sent, read, strict=True) if len(body) <= max(most, KEPT_BYTES))
    assert held.bytes == 0 and frames.cut_bytes == 0


@given(bodies, places, st.integers(1, 4))
def test_so_many_requests_and_no_more_are_passed_on_at_once(sent: list[bytes], cuts: list[int], most: int) -> None:
    requests = Requests(1000, WATCHED, lambda start, correlation: None)
    total = 0
    for piece in cut(b"".join(map(framed, sent)), cuts):
        at = 0
        while at < len(piece):
            end, begun = requests.look(piece, at, most)
            assert at < end and begun <= most
            assert end == len(piece) or begun == most
            at, total = end, total + begun
    assert total == len(sent)


def test_a_peer_that_only_asks_fills_no_memory() -> None:
    answers = Answers(1000, lambda data: None, lambda what, size: None)
    for number in range(MOST_AWAITED + 5):
        answers.wait_for(number.to_bytes(4, "big"), None)
    assert len(answers.awaited) == MOST_AWAITED and (0).to_bytes(4, "big") not in answers.awaited
