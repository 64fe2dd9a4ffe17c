"""Segments to bytes: what waits, for how long, and what is given up when nothing comes."""

from __future__ import annotations

from groupmock.record.reassembly import (
    HELD_BYTES,
    HELD_SEGMENTS,
    REORDER_NS,
    REORDER_SEGMENTS,
    REPEAT_NS,
    Begun,
    Came,
    Ended,
    Event,
    Missed,
    Stream,
)
from groupmock.record.segments import ACK, FIN, RST, SYN, Segment

A, B = (b"\x0a\0\0\1", 40_000), (b"\x0a\0\0\2", 9092)
ISN = (100, 500)


def seg(side: int, sequence: int, data: bytes = b"", ack: int | None = 0, flags: int = ACK, t: int = 0, length: int = 0) -> Segment:
    """Numbers count from behind the SYNs."""
    source, target = (A, B) if side == 0 else (B, A)
    told = None if ack is None else (ISN[1 - side] + 1 + ack) % 2**32
    return Segment(t, source, target, (ISN[side] + 1 + sequence) % 2**32, told, flags, data, length or len(data))


def begun() -> Stream:
    stream = Stream()
    assert take(stream, seg(0, -1, ack=None, flags=SYN), seg(1, -1, flags=SYN | ACK)) == []
    assert take(stream, seg(0, 0)) == [Begun(0, 0)]
    return stream


def take(stream: Stream, *segments: Segment) -> list[Event]:
    return [event for segment in segments for event in stream.take(0 if segment.source == A else 1, segment)]


def told(events: list[Event]) -> list[object]:
    """Bytes as they are, what is missing as a number."""
    return [event.data if isinstance(event, Came) else event.size if isinstance(event, Missed) else event for event in events]


def test_bytes_wait_for_those_before_them() -> None:
    stream = begun()
    assert told(take(stream, seg(0, 3, b"def"), seg(0, 6, b"g"))) == []
    assert told(take(stream, seg(0, 0, b"abc"))) == [b"abc", b"def", b"g"]
    assert (stream.held_bytes, stream.deadline) == (0, None)


def test_bytes_wait_for_those_that_their_sender_had_received() -> None:
    stream = begun()
    assert told(take(stream, seg(1, 0, b"answer", ack=3))) == []
    assert told(take(stream, seg(0, 0, b"ask"))) == [b"ask", b"answer"]


def test_only_what_is_new_counts() -> None:
    stream = begun()
    events = take(stream, seg(0, 0, b"abc"), seg(0, 0, b"abcd"), seg(0, 1, b"b"), seg(0, 2, b"cdef"))
    assert told(events) == [b"abc", b"d", b"ef"]


def test_a_hole_that_was_acknowledged_is_given_up_after_a_second() -> None:
    stream = begun()
    take(stream, seg(0, 5, b"later", t=10), seg(1, 0, ack=10, t=20))
    assert stream.deadline == 20 + REORDER_NS
    assert told(stream.expired(20 + REORDER_NS)) == [5, b"later"]
    assert stream.deadline is None


def test_or_after_so_many_segments_whatever_the_time() -> None:
    stream = begun()
    events = take(stream, seg(0, 5, b"later"), *[seg(1, 0, ack=10)] * (REORDER_SEGMENTS - 1))
    assert told(events) == []
    assert told(take(stream, seg(1, 0, ack=10))) == [5, b"later"]


def test_a_hole_of_the_network_waits_for_the_repetition() -> None:
    stream = begun()
    take(stream, seg(0, 5, b"later", t=10), *[seg(1, 0, t=11)] * 2 * REORDER_SEGMENTS)
    assert stream.deadline == 10 + REPEAT_NS
    assert told(take(stream, seg(0, 0, b"later", t=REPEAT_NS))) == [b"later", b"later"]
    take(stream, seg(0, 12, b"much later", t=10))
    assert told(stream.expired(10 + REPEAT_NS)) == [2, b"much later"]


def test_of_a_hole_only_the_part_that_was_acknowledged_is_given_up() -> None:
    stream = begun()
    take(stream, seg(0, 5, b"later"), seg(1, 0, ack=3))
    assert told(stream.expired(REORDER_NS)) == [3]
    assert told(take(stream, seg(0, 3, b"xy"))) == [b"xy", b"later"]


def test_too_many_segments_or_bytes_wait_for_nothing() -> None:
    many = begun()
    events = take(many, *(seg(0, 2 * at, b"x") for at in range(1, HELD_SEGMENTS + 2)))
    assert told(events) == [2, b"x"]
    large = begun()
    assert told(take(large, seg(0, 1, bytes(HELD_BYTES + 1)))) == [1, bytes(HELD_BYTES + 1)]


def test_a_request_whose_answer_alone_is_there_is_missing() -> None:
    stream = begun()
    take(stream, seg(1, 0, b"answer", ack=7))
    assert told(stream.finish(99)) == [7, b"answer"]


def test_the_fin_alone_that_is_missing_is_an_end() -> None:
    stream = begun()
    take(stream, seg(0, 0, b"abc"), seg(1, 0, ack=4))
    assert stream.finish(99) == [Ended(0, False, 99)]


def test_an_end_waits_for_the_bytes_before_it() -> None:
    stream = begun()
    assert take(stream, seg(0, 3, flags=FIN | ACK)) == []
    assert told(take(stream, seg(0, 0, b"abc"))) == [b"abc", Ended(0, False, 0)]
    assert take(stream, seg(0, 3, flags=FIN | ACK), seg(1, 0, ack=4, flags=FIN | ACK)) == [Ended(1, False, 0)]
    assert stream.ended


def test_a_reset_ends_both() -> None:
    stream = begun()
    assert take(stream, seg(1, 0, flags=RST)) == [Ended(1, True, 0)]
    assert take(stream, seg(0, 0, b"abc")) == []


def test_numbers_of_another_connection_are_of_no_account() -> None:
    stream = begun()
    far = (seg(0, 2**30, b"x"), seg(0, 2**31, flags=RST), seg(1, 0, ack=2**30), seg(0, -(2**30), b"x"))
    assert take(stream, *far) == []
    assert (stream.held_bytes, stream.deadline, stream.finish(1)) == (0, None, [])


def test_a_connection_without_its_syn_begins_when_none_comes() -> None:
    stream = Stream()
    assert take(stream, seg(0, 10, b"ask", ack=20, t=5), seg(1, 20, b"answer", ack=13, t=6)) == []
    assert stream.deadline == 5 + REORDER_NS
    assert told(stream.expired(5 + REORDER_NS)) == [Begun(None, 5), b"ask", b"answer"]


def test_one_whose_syn_stands_behind_its_bytes_begins_with_the_syn() -> None:
    stream = Stream()
    events = take(stream, seg(0, 0, b"ask"), seg(1, -1, flags=SYN | ACK, ack=0), seg(0, -1, ack=None, flags=SYN))
    assert told(events) == [Begun(0, 0), b"ask"]


def test_one_of_whose_syns_only_the_answer_is_there() -> None:
    assert told(take(Stream(), seg(1, -1, flags=SYN | ACK), seg(0, 0, b"ask"))) == [Begun(0, 0), b"ask"]


def test_one_whose_answer_to_the_syn_is_missing() -> None:
    stream = Stream()
    take(stream, seg(0, -1, ack=None, flags=SYN), seg(0, 0, b"ask"), seg(1, 4, b"wer", ack=3))
    assert told(stream.finish(7)) == [Begun(0, 0), b"ask", 4, b"wer"]


def test_a_syn_of_another_number_is_another_connection() -> None:
    stream = begun()
    again = seg(0, -1, ack=None, flags=SYN)
    assert not stream.is_another(0, again)
    assert stream.is_another(0, again._replace(sequence=7_000))
    middle = Stream()
    take(middle, seg(0, 10, b"ask"))
    assert not middle.is_another(0, again)  # it may be late
    middle.expired(REORDER_NS)
    assert middle.is_another(0, again)


def test_each_side_waiting_for_the_other_is_no_end() -> None:
    stream = begun()
    take(stream, seg(1, 0, b"answer", ack=3, t=1), seg(0, 0, b"ask", ack=6, t=2))
    assert told(stream.expired(REORDER_NS + 2)) == [b"ask", b"answer"]


def test_bytes_that_the_snap_length_cut_off_are_a_hole() -> None:
    stream = begun()
    take(stream, seg(0, 0, b"abc", length=10), seg(0, 10, b"def"), seg(1, 0, ack=13))
    assert told(stream.finish(1)) == [7, b"def"]
