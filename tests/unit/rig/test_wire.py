"""The wire client without IO encodes requests to bytes and decodes frames of the answers."""

from __future__ import annotations

import struct

import pytest
from cases import for_each

from groupmock.rig.wire import LARGEST_ANSWER, Asked, ClientSide, NoFrame, Unreadable, framed, frames_of
from groupmock_codec import APIS
from groupmock_codec.messages.k00_produce import ProduceRequest
from groupmock_codec.messages.k12_heartbeat import HeartbeatResponse

HEARTBEAT, PRODUCE = APIS["Heartbeat"], APIS["Produce"]


def answer(correlation: int, code: int = 0) -> bytes:
    return framed(struct.pack(">i", correlation) + HEARTBEAT.response.encode(3, HeartbeatResponse(error_code=code)))


def test_answers_are_paired_with_requests_in_order_whatever_the_pieces() -> None:
    side = ClientSide("c")
    sent = [side.ask(HEARTBEAT.key, 3, tag=tag) for tag in "ab"]
    assert [frame[4:8] for data in sent for frame in frames_of(data)[0]] == [b"\0\0\0\1", b"\0\0\0\2"]
    data = answer(1, 27) + answer(2)
    came = [each for at in range(len(data)) for each in side.receive(data[at : at + 1])]
    answers = [(asked.tag, asked.read(frame)[1]) for asked, frame in came if asked is not None]
    assert answers == [("a", HeartbeatResponse(error_code=27)), ("b", HeartbeatResponse())]
    assert not side.pending and side.rest == b""


def test_an_answer_to_nothing_is_given_without_a_request() -> None:
    side = ClientSide()
    side.ask(PRODUCE.key, 7, ProduceRequest(acks=0))
    assert [asked for asked, _ in side.receive(answer(1))] == [None]


def test_an_answer_with_the_id_of_another_request_is_unreadable() -> None:
    side = ClientSide(first=5)
    side.ask(HEARTBEAT.key, 3)
    ((asked, frame),) = side.receive(answer(6))
    assert asked == Asked(HEARTBEAT.key, 3, 5)
    with pytest.raises(Unreadable, match="correlation id 6 where 5 was due"):
        asked.read(frame)


@for_each("length", [-(2**31), -1, 0, 3, LARGEST_ANSWER + 1])
def test_a_length_that_no_answer_has_is_refused_after_what_came_before_it(length: int) -> None:
    side, head = ClientSide(), struct.pack(">i", length)
    came = side.receive(answer(1) + head)
    assert next(came)[1] == answer(1)[4:]
    with pytest.raises(NoFrame, match=f"a frame of {length} bytes") as refused:
        next(came)
    assert refused.value.head == head
