"""The wire rig is a whole driver without sockets: a client's bytes go in, and the server's bytes come out."""

from __future__ import annotations

from pathlib import Path

from groupmock.journal.file import FileSink
from groupmock.rig import WireRig
from groupmock.rig.replay import replay
from groupmock.rig.wire import read_response, request
from groupmock_codec.api_keys import API_VERSIONS, JOIN_GROUP
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest


def join(member_id: str = "") -> JoinGroupRequest:
    protocols = [JoinGroupRequestProtocol(name="range", metadata=bytes(6))]
    return JoinGroupRequest(
        group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=10_000, protocol_type="consumer", member_id=member_id,
        protocols=protocols,
    )  # fmt: skip


def test_bytes_in_pieces_are_answered_in_order() -> None:
    wire = WireRig.make().connect()
    data = b"".join(request(API_VERSIONS, 0, ApiVersionsRequest(), correlation) for correlation in (5, 6, 7))
    for place in range(0, len(data), 3):
        wire.send(data[place : place + 3])
    assert [int.from_bytes(frame[:4], "big") for frame in wire.take()] == [5, 6, 7]
    assert wire.take() == []


def test_a_join_is_answered_when_the_clock_says_so() -> None:
    rig = WireRig.make(topics={"orders": 4}, settings={"group.initial.rebalance.delay.ms": 700})
    wire = rig.connect()
    refused = wire.ask(JOIN_GROUP, 5, join())
    wire.send(request(JOIN_GROUP, 5, join(refused.member_id), 9))
    rig.sleep(699)
    assert wire.take() == []
    rig.sleep(1)
    (frame,) = wire.take()
    answer = read_response(JOIN_GROUP, 5, frame, 9)[1]
    assert (answer.error_code, answer.generation_id, rig.now_ms) == (0, 1, 700.0)  # type: ignore[attr-defined]  # a JoinGroup's


def test_bytes_that_are_no_request_close_the_connection() -> None:
    rig = WireRig.make()
    wire, other = rig.connect(), rig.connect()
    wire.send(b"GET / HTTP/1.1\r\n\r\n")
    assert wire.closed and wire.take() == []
    assert other.ask(API_VERSIONS, 0).error_code == 0


def test_a_run_is_a_journal_that_replays(tmp_path: Path) -> None:
    def failed(reason: str) -> None:
        raise AssertionError(reason)

    path = tmp_path / "rig.jsonl"
    rig = WireRig.make(topics={"orders": 4}, seed=11, sinks=[FileSink(str(path), failed)])
    wire = rig.connect()
    refused = wire.ask(JOIN_GROUP, 5, join())
    wire.send(request(JOIN_GROUP, 5, join(refused.member_id), 2))
    rig.sleep(5000)
    wire.hang_up()
    rig.sleep(20_000)
    rig.close()
    assert '"kind":"moved"' in path.read_text()
    assert replay(path).difference is None
