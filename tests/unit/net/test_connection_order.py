"""A connection handles one request at a time, answers in order, and copes with half-closed, stuck and closed clients."""

from __future__ import annotations

import asyncio
import socket

from groupmock.core.events import Command


async def test_answers_come_in_order_and_in_one_piece(house):
    peer = await house.peer()
    peer.write(b"".join(peer.frame(18, 0, correlation) for correlation in range(20)))
    assert [await peer.correlation() for _ in range(20)] == list(range(20))


async def test_nothing_behind_a_parked_request_is_handled(house):
    peer = await house.peer()
    peer.write(peer.frame(11, 5, 1) + peer.frame(18, 0, 2))
    peer.write(peer.frame(18, 0, 3))
    await house.until(lambda: house.core.parked and house.server.counters.held_bytes > 0)
    assert [request.key for request in house.core.requests] == [11]
    house.server.submit(Command("release", {}))
    assert [await peer.correlation() for _ in range(3)] == [1, 2, 3]
    rows = house.sink.of("request")
    assert rows[1].received < rows[1].handled, "it waited"
    assert house.server.counters.held_bytes == 0


async def test_byte_by_byte(house):
    peer = await house.peer()
    for byte in peer.frame(11, 5, 1) + peer.frame(18, 3, 2, client_software_name="x", client_software_version="1"):
        peer.write(bytes([byte]))
        await peer.writer.drain()
        await asyncio.sleep(0)
    await house.until(lambda: house.core.parked)
    house.server.submit(Command("release", {}))
    assert [await peer.correlation(), await peer.correlation()] == [1, 2]


async def test_half_closed_client_gets_its_parked_answer_then_fin(house):
    peer = await house.peer()
    peer.write(peer.frame(11, 5, 7) + peer.frame(18, 0, 8))
    peer.writer.write_eof()
    await house.until(lambda: house.core.parked)
    house.server.submit(Command("release", {}))
    assert [await peer.correlation(), await peer.correlation()] == [7, 8]
    assert await peer.ended() == b""
    await house.until(lambda: house.server.counters.connections_closed == 1)


async def test_half_closed_idle_client_is_closed(house):
    peer = await house.peer()
    await peer.exchange(peer.frame(18, 0))
    peer.writer.write_eof()
    assert await peer.ended() == b""
    assert [(row.by, row.reason) for row in house.sink.of("close")] == [("client", "the client closed")]


async def test_abandoned_stays_open_and_mute(house):
    peer, other = await house.peer(), await house.peer()
    peer.write(peer.frame(11, 5, 1) + peer.frame(18, 0, 2))
    await house.until(lambda: house.core.parked)
    house.server.submit(Command("abandon", {}))
    await other.exchange(other.frame(18, 0))
    assert not peer.reader.at_eof() and [request.key for request in house.core.requests] == [11, 18]
    assert [(row.reason, row.correlation_id) for row in house.sink.of("abandoned")] == [("told to", 1)]
    assert house.server.counters.held_bytes > 0, "its memory is counted"
    peer.writer.close()
    await house.until(lambda: house.server.counters.connections_closed == 1)
    assert house.server.counters.held_bytes == 0


async def test_close_effect_sends_what_was_answered_and_then_fin(house):
    peer = await house.peer()
    peer.write(peer.frame(18, 0, 1) + peer.frame(11, 5, 2) + peer.frame(18, 0, 3))
    await house.until(lambda: house.core.parked)
    house.server.submit(Command("close", {}))
    assert await peer.correlation() == 1
    assert await peer.ended() == b""
    assert [(row.by, row.reason) for row in house.sink.of("close")] == [("server", "told to")]


async def test_answer_for_a_client_that_is_gone_is_recorded_as_lost(house):
    peer = await house.peer()
    peer.write(peer.frame(11, 5, 1))
    await house.until(lambda: house.core.parked)
    peer.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    peer.writer.transport.abort()
    await house.until(lambda: house.server.counters.connections_closed == 1)
    house.server.submit(Command("release", {}))
    assert [row.delivered for row in house.sink.of("reply")] == [False]
    assert house.server.counters.lost_replies == 1
    assert "request unanswered" in house.sink.of("close")[0].reason


async def test_a_defect_of_the_core_costs_one_connection_only(house):
    peer, other = await house.peer(), await house.peer()
    peer.write(peer.frame(14, 3, 1, group_id="g"))
    assert await peer.ended() == b""
    await other.exchange(other.frame(18, 0))
    notes = house.sink.of("note")
    assert [note.what for note in notes] == ["internal error"]
    assert "the stub knows no SyncGroup" in notes[0].fields["traceback"]
    assert house.server.counters.internal_errors == 1


async def test_an_answer_for_a_connection_that_we_closed_is_recorded_as_lost(house):
    peer = await house.peer()
    peer.write(peer.frame(11, 5, 1))
    await house.until(lambda: house.core.parked)
    house.server.close_connections()
    house.server.submit(Command("release", {}))
    assert await peer.ended() == b""
    assert [row.delivered for row in house.sink.of("reply")] == [False]
    assert house.server.counters.internal_errors == 0


async def test_an_idle_connection_keeps_no_frame(house):
    """A connection that kept its last frame could hold up to socket.request.max.bytes as long as its client is connected."""
    peer = await house.peer()
    peer.write(peer.frame(18, 0, 1))
    assert await peer.correlation() == 1
    (connection,) = house.server.driver.connections.values()
    assert connection.call is None
    peer.write(peer.frame(11, 5, 2))
    await house.until(lambda: house.core.parked)
    assert connection.call is not None and connection.call.codec.name == "JoinGroup"
    house.server.submit(Command("release", {}))
    assert await peer.correlation() == 2
    assert connection.call is None
