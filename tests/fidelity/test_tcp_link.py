"""Connections to a broker: what a peer may send, and what is said of one that is not there."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest
from cases import for_each

from groupmock.rig.wire import LARGEST_ANSWER, Asked, Unreadable
from groupmock_clients.probe.stages.tcp_broker import NoBroker
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from tools.fidelity.play.tcp_link import Asker, Link, parse_address

FRAME = struct.pack(">ii", 6, 7) + b"ok"


@for_each(("text", "address"), [("h:1", ("h", 1)), ("a:9092,b:9093", ("a", 9092)), ("::1:9092", ("::1", 9092))])
def test_an_address_is_a_host_and_a_port(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@for_each("text", ["", "h", "h:", ":1", "h:x", "h:0", "h:65536", "h:-1", "h:1²"])
def test_another_text_is_an_error_that_names_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"HOST:PORT expected, not '"):
        parse_address(text)


def arriving(*data: bytes) -> list[tuple[Asked | None, bytes]]:
    """What a link tells of these bytes; the request 7 is under way."""
    told: list[tuple[Asked | None, bytes]] = []
    link = Link(lambda asked, frame: told.append((asked, frame)), lambda: None)
    link.side.pending.append(Asked(12, 4, 7, tag=1))
    for part in data:
        link.data_received(part)
    return told


def test_frames_are_told_whole_whatever_the_pieces() -> None:
    assert arriving(*(FRAME[at : at + 1] for at in range(len(FRAME)))) == [(Asked(12, 4, 7, tag=1), FRAME[4:])]


def test_a_frame_that_answers_nothing_is_told_as_such() -> None:
    assert [asked for asked, _ in arriving(FRAME + FRAME)] == [Asked(12, 4, 7, tag=1), None]


@for_each("length", [-(2**31), -4, -1, 0, 3, LARGEST_ANSWER + 1, 2**31 - 1])
def test_a_length_that_no_answer_has_is_refused_at_once(length: int) -> None:
    with pytest.raises(Unreadable, match=f"a frame of {length} bytes"):
        arriving(struct.pack(">i", length))


def test_nobody_there_is_no_broker() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        with pytest.raises(NoBroker, match=f"cannot connect to 127.0.0.1:{port}"):
            asyncio.run(Link.open("127.0.0.1", port, lambda asked, frame: None, lambda: None))


class Silent:
    """A link that takes every question."""

    ended = False

    def ask(self, *_: object) -> None:
        """Nothing comes of it."""


async def test_a_cancellation_is_not_lost_when_the_answer_comes_just_then() -> None:
    # The janitor, cancelled at the end of a run, went on for ever (Python 3.11's wait_for returns the answer instead).
    asker = Asker(None)  # type: ignore[arg-type]  # its peer is only asked for an address
    asker._link = Silent()  # type: ignore[assignment]  # a link that says nothing
    asking = asyncio.create_task(asker.ask(12, 4, HeartbeatRequest()))
    await asyncio.sleep(0)
    assert asker._answer is not None
    asker._answer.set_result(HeartbeatResponse())
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
