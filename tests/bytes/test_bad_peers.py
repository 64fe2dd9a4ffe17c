"""Peers that flood or stall a server get one journal row with the reason, do not disturb other clients, and cannot exhaust memory."""

from __future__ import annotations

import asyncio
import socket

import pytest

from groupmock.rig.wire import request as frame_of
from groupmock_codec import APIS
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol

READ_AHEAD = "groupmock.connection.read.ahead.bytes"
WRITE_BUFFER = "groupmock.connection.write.buffer.bytes"


def request(key: int, version: int, message: object, correlation: int = 1) -> bytes:
    return frame_of(key, version, message, correlation, "bad")


def join(correlation: int = 1, group: str = "g") -> bytes:
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
    message = JoinGroupRequest(
        group_id=group, session_timeout_ms=10_000, rebalance_timeout_ms=10_000, protocol_type="other", protocols=protocols
    )
    return request(11, 0, message, correlation)


GOOD = request(18, 0, APIS[18].request.message(), 77)
ALL_TOPICS = request(3, 1, MetadataRequest(topics=None))


async def served(stand) -> None:
    """Check that another connection is answered at once."""
    other = await stand.wire()
    assert (await other.exchange(GOOD))[:4] == (77).to_bytes(4, "big")


async def test_half_a_frame_and_then_a_hang_up(stand):
    wire = await stand.wire()
    wire.write(GOOD[:9])
    await stand.until(lambda: stand.running.server.counters.held_bytes == 9)
    await served(stand)
    wire.writer.close()
    await stand.until(lambda: stand.rows.of("close"))
    (row,) = stand.rows.of("close")
    assert (row.by, row.cut_bytes) == ("client", 9)
    assert "in the middle of a frame" in row.reason
    assert stand.running.server.counters.held_bytes == 0


@pytest.mark.parametrize("stand", [{"connections.max.idle.ms": 200}], indirect=True)
async def test_half_a_frame_and_silence_ends_with_the_idle_time(stand):
    wire = await stand.wire()
    wire.write((104_857_600).to_bytes(4, "big") + b"few")
    assert await wire.ended() == b""
    (row,) = stand.rows.of("close")
    assert (row.by, row.cut_bytes) == ("server", 7)
    assert "connections.max.idle.ms" in row.reason


async def test_a_hundred_megabytes_announced_and_few_sent_cost_few(stand):
    wires = [await stand.wire() for _ in range(50)]
    for wire in wires:
        wire.write((104_857_600).to_bytes(4, "big") + b"few")
    await stand.until(lambda: stand.running.server.counters.held_bytes == 50 * 7)
    await served(stand)
    assert stand.rows.of("close") == []


@pytest.mark.parametrize("stand", [{"queued.max.request.bytes": 3_000_000}], indirect=True)
async def test_who_exceeds_what_all_connections_may_hold_is_closed(stand):
    patient, greedy = await stand.wire(), await stand.wire()
    patient.write(b"\0\x10\0\0" + bytes(1000))
    greedy.write((104_857_600).to_bytes(4, "big") + bytes(5_000_000))
    assert await greedy.ended() == b""
    (row,) = stand.rows.of("close")
    assert "queued.max.request.bytes" in row.reason
    await stand.until(lambda: stand.running.server.counters.held_bytes == 1004)
    await served(stand)


@pytest.mark.parametrize("stand", [{"socket.request.max.bytes": 1000}], indirect=True)
async def test_the_frame_limit_is_a_setting(stand):
    wire = await stand.wire()
    wire.write(GOOD + (1001).to_bytes(4, "big"))
    assert len(await wire.ended()) > 4, "the good request was answered"
    (row,) = stand.rows.of("close")
    assert "1001" in row.reason and "socket.request.max.bytes" in row.reason


@pytest.mark.parametrize("stand", [{"socket.request.max.bytes": 10}], indirect=True)
async def test_the_frame_limit_holds_for_a_frame_that_is_all_there(stand):
    wire = await stand.wire()
    wire.write(GOOD)
    assert await wire.ended() == b""


@pytest.mark.parametrize("stand", [{"group.initial.rebalance.delay.ms": 600}], indirect=True)
async def test_garbage_behind_a_parked_join_is_noticed_after_its_answer(stand):
    wire = await stand.wire()
    wire.write(join() + b"\xff\xff\xff\xff garbage")
    await stand.until(lambda: stand.rows.of("request"))
    await served(stand)
    assert stand.rows.of("close") == []
    answer = await wire.receive()
    assert APIS[11].response.decode(0, answer[4:]).error_code == 0
    assert await wire.ended() == b""
    assert len(stand.rows.of("close")) == 1


@pytest.mark.parametrize("stand", [{"group.initial.rebalance.delay.ms": 30_000, READ_AHEAD: 100_000}], indirect=True)
async def test_a_flood_behind_a_parked_join_is_read_up_to_a_limit(stand):
    wire = await stand.wire()
    wire.write(join())
    await stand.until(lambda: stand.rows.of("request"))
    wire.write(GOOD * 400_000)
    await stand.until(lambda: stand.running.server.counters.held_bytes >= 100_000)
    await served(stand)
    held = stand.running.server.counters.held_bytes
    assert held < 100_000 + 600_000, "one read more at most"
    assert [request.api_name for request in stand.rows.of("request")] == ["JoinGroup", "ApiVersions"]


@pytest.mark.parametrize("stand", [{"group.initial.rebalance.delay.ms": 300, READ_AHEAD: 10_000}], indirect=True)
async def test_what_waited_beyond_the_limit_is_answered_in_the_end(stand):
    wire = await stand.wire()
    wire.write(join())
    wire.write(GOOD * 4_000)
    async with asyncio.timeout(60):
        await wire.receive()
        for _ in range(4_000):
            await wire.receive()
    assert stand.running.server.counters.held_bytes == 0


@pytest.mark.parametrize("stand", [{WRITE_BUFFER: 65536}], indirect=True)
async def test_a_peer_that_never_reads_is_not_served_further(stand):
    for number in range(200):
        stand.topic(f"topic-{number:04d}-" + "x" * 100)
    wire = await stand.wire()
    wire.writer.transport.pause_reading()
    wire.write(ALL_TOPICS * 1000)
    await stand.until(lambda: stand.rows.of("note"))
    (connection,) = stand.running.server.driver.connections.values()
    await served(stand)
    answered = len([row for row in stand.rows.of("reply") if row.connection == connection.number])
    assert answered < 900, "it was not served to the end"
    assert connection.transport.get_write_buffer_size() < 65536 + 200_000, "what waits for it is bounded"
    (note,) = stand.rows.of("note")
    assert "does not read" in note.what and note.fields["connection"] == connection.number
    wire.writer.transport.resume_reading()
    async with asyncio.timeout(60):
        for _ in range(1000):
            await wire.receive()


@pytest.mark.parametrize("stand", [{"max.connections": 2}], indirect=True)
async def test_connections_above_the_limit_wait_until_one_goes(stand):
    first, second = await stand.wire(), await stand.wire()
    await first.exchange(GOOD)
    await second.exchange(GOOD)
    # A third connection can be opened, because the kernel completes the TCP handshake although the server does not accept it.
    third = await stand.wire()
    third.write(GOOD)
    await second.exchange(GOOD)
    assert len(stand.rows.of("open")) == 2
    first.writer.close()
    assert (await third.receive())[:4] == (77).to_bytes(4, "big")
    assert len(stand.rows.of("open")) == 3


async def test_a_fetch_whose_client_hung_up_leaves_nothing_behind(stand):
    stand.topic("orders")
    wire = await stand.wire()
    partitions = [FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)]
    wire.write(request(1, 4, FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=[FetchTopic(topic="orders", partitions=partitions)])))
    await stand.until(lambda: stand.rows.of("request"))
    assert len(stand.running.server.driver.tickets) == 1, "it waits for records"
    wire.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    wire.writer.transport.abort()  # Send an RST, because after a FIN alone the client would still be entitled to an answer.
    await stand.until(lambda: stand.rows.of("close"))
    assert stand.running.server.driver.tickets == {}
