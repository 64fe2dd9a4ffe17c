"""The driver has one loop timer for all core timers, answers in slices, runs commands, and closes idle connections."""

from __future__ import annotations

import asyncio
import threading
from queue import Queue

import pytest

from groupmock.core.effects import TimerFired
from groupmock.core.events import Command
from groupmock.net.clock import VirtualClock
from groupmock_codec import APIS
from groupmock_codec.units import NS_PER_MS


async def test_one_appointment_for_all_timers_made_again_only_for_an_earlier_deadline(build):
    clock = VirtualClock()
    house = await build(clock, connections_max_idle_ms=-1)
    peer = await house.peer()
    for deadline in (500, 700, 300, 300):
        house.core.due = deadline * NS_PER_MS
        await peer.exchange(peer.frame(18, 0))
    assert [one.when for one in clock._appointments] == [300 * NS_PER_MS]
    clock.advance(299)
    assert house.core.fired == []
    clock.advance(1)
    assert house.core.fired == [300 * NS_PER_MS]


async def test_a_deadline_that_moved_is_looked_at_and_armed_again(build):
    clock = VirtualClock()
    house = await build(clock, connections_max_idle_ms=-1)
    peer = await house.peer()
    house.core.due = 100 * NS_PER_MS
    await peer.exchange(peer.frame(18, 0))
    house.core.due = 900 * NS_PER_MS
    clock.advance(500)
    assert house.core.fired == []
    clock.advance(400)
    assert house.core.fired == [900 * NS_PER_MS]


async def test_what_a_timer_does_is_done_and_recorded(build):
    clock = VirtualClock()
    house = await build(clock)
    peer = await house.peer()
    peer.write(peer.frame(11, 5, 4))
    await house.until(lambda: house.core.parked)
    house.core.on_expire = [TimerFired("join", ("g",)), *house.core._command(Command("release", {}))]
    house.core.due = 5 * NS_PER_MS
    house.server.driver.settle()
    clock.advance(5)
    assert await peer.correlation() == 4
    assert [(row.timer, row.subject, row.t) for row in house.sink.of("timer")] == [("join", ("g",), 5 * NS_PER_MS)]


async def test_time_that_was_looked_at_in_vain_is_a_row_in_complete_journals(build):
    clock = VirtualClock()
    house = await build(clock, heartbeats=True)
    house.core.due = 5 * NS_PER_MS
    house.server.driver.settle()
    clock.advance(5)
    assert [(row.timer, row.t) for row in house.sink.of("timer")] == [(None, 5 * NS_PER_MS)]


async def test_many_answers_come_in_slices_and_the_loop_turns_between(build):
    house = await build(replies_slice_us=1)
    peers = [await house.peer() for _ in range(100)]
    for number, peer in enumerate(peers):
        peer.write(peer.frame(11, 5, number))
    await house.until(lambda: len(house.core.parked) == 100)
    turns = 0

    def turn() -> None:
        nonlocal turns
        turns += 1
        if house.server.counters.replies < 100:
            asyncio.get_running_loop().call_soon(turn)

    asyncio.get_running_loop().call_soon(turn)
    house.server.submit(Command("release", {}))
    assert house.server.counters.replies < 100, "not all at once"
    assert [await peer.correlation() for peer in peers] == list(range(100))
    assert turns > 5, "others had their turn in between"


async def test_what_is_asked_between_two_slices_is_answered_and_keeps_its_order(build):
    house = await build(replies_slice_us=1)
    peers = [await house.peer() for _ in range(40)]
    for number, peer in enumerate(peers):
        peer.write(peer.frame(11, 5, number) + peer.frame(18, 0, 1000 + number))
    await house.until(lambda: len(house.core.parked) == 40)
    house.server.submit(Command("release", {}))
    last = peers[-1]
    last.write(last.frame(18, 0, 5000))
    assert [await last.correlation() for _ in range(3)] == [39, 1039, 5000]
    for number, peer in enumerate(peers[:-1]):
        assert [await peer.correlation(), await peer.correlation()] == [number, 1000 + number]


async def test_answers_that_were_still_to_come_are_sent_when_the_server_stops(build):
    house = await build(replies_slice_us=1)
    peers = [await house.peer() for _ in range(40)]
    for number, peer in enumerate(peers):
        peer.write(peer.frame(11, 5, number))
    await house.until(lambda: len(house.core.parked) == 40)
    house.server.submit(Command("release", {}))
    await house.server.close()
    assert [await peer.correlation() for peer in peers] == list(range(40))
    assert all([await peer.ended() == b"" for peer in peers])


async def test_a_broken_iterator_of_answers_is_a_note_and_nothing_else(house):
    from groupmock.core.effects import Replies

    def broken():
        raise RuntimeError("half way")
        yield

    house.server.driver.perform([Replies(broken())], 0)
    peer = await house.peer()
    await peer.exchange(peer.frame(18, 0))
    assert [note.fields["where"] for note in house.sink.of("note")] == ["many answers"]


async def test_an_answer_to_nothing_is_a_note(house):
    from groupmock.core.effects import Reply

    house.server.driver.perform([Reply(999, None)], 0)
    assert [note.fields["error"] for note in house.sink.of("note")] == ["an answer to no open request"]


async def test_an_answer_that_does_not_fit_its_version_costs_that_connection(house):
    from groupmock.core.effects import Reply
    from groupmock_codec import APIS

    peer = await house.peer()
    peer.write(peer.frame(11, 5, 1))
    await house.until(lambda: house.core.parked)
    answer = APIS[11].response.message(generation_id=2**40)
    house.server.driver.perform([Reply(house.core.parked[0], answer)], 0)
    assert await peer.ended() == b""
    (note,) = house.sink.of("note")
    assert "JoinGroup v5" in note.fields["where"] and "generation_id" in note.fields["error"]


async def test_a_command_is_a_row_before_what_it_does(house):
    peer = await house.peer()
    peer.write(peer.frame(11, 5, 1))
    await house.until(lambda: house.core.parked)
    house.server.submit(Command("release", {"why": 1}))
    kinds = [row.__struct_config__.tag for row in house.sink.rows]
    assert kinds == ["open", "request", "command", "reply"]


async def test_a_command_that_is_refused_leaves_no_row(house):
    with pytest.raises(KeyError):
        house.server.submit(Command("dance", {}))
    assert house.sink.rows == []


async def test_idle_connections_are_closed_and_busy_ones_stay(build):
    clock = VirtualClock()
    house = await build(clock, connections_max_idle_ms=1000)
    idle, busy = await house.peer(), await house.peer()
    await idle.exchange(idle.frame(18, 0))
    for _ in range(6):
        await busy.exchange(busy.frame(18, 0))
        clock.advance(250)
    assert await idle.ended() == b""
    await busy.exchange(busy.frame(18, 0))
    (row,) = house.sink.of("close")
    assert row.by == "server" and "connections.max.idle.ms" in row.reason


async def test_a_sink_without_routine_gets_errors_and_notes_only(house):
    house.sink.routine = False
    house.server.journal.remove(house.sink)
    house.server.journal.add(house.sink)
    peer = await house.peer()
    await peer.exchange(peer.frame(18, 0, 1))
    ahead = peer.frame(18, 3, 2)
    # ApiVersions of the unknown version 99 is answered in version 0 with UNSUPPORTED_VERSION (35).
    await peer.exchange(ahead[:6] + b"\0\x63" + ahead[8:])
    told = [(row.__struct_config__.tag, row.correlation_id) for row in house.sink.rows if hasattr(row, "correlation_id")]
    assert told == [("request", 2), ("reply", 2)]


async def test_closing_all_connections_leaves_the_server_up(house):
    peer = await house.peer()
    await peer.exchange(peer.frame(18, 0))
    house.server.close_connections()
    assert await peer.ended() == b""
    again = await house.peer()
    await again.exchange(again.frame(18, 0))


async def test_the_last_row_is_the_end_and_closing_twice_is_fine(house):
    peer = await house.peer()
    await peer.exchange(peer.frame(18, 0))
    await house.server.close()
    await house.server.close()
    assert house.sink.rows[-1].what == "end"
    assert [row.reason for row in house.sink.of("close")] == ["the server stops"]


async def test_lease_off_takes_the_full_path(build):
    house = await build()
    peer = await house.peer()
    beat = {"group_id": "g", "member_id": "m", "generation_id": 1}
    for number in range(5):
        await peer.exchange(peer.frame(12, 4, number, **beat))
    assert house.core.renewed and len(house.core.requests) == 1
    house.server.driver.use_leases(False)
    for number in range(5):
        await peer.exchange(peer.frame(12, 4, number, **beat))
    assert len(house.core.requests) == 6
    assert house.sink.of("request") == [], "heartbeats that change nothing are no rows here"


async def test_a_new_epoch_takes_the_full_path(house):
    peer = await house.peer()
    beat = {"group_id": "g", "member_id": "m", "generation_id": 1}
    await peer.exchange(peer.frame(12, 4, 1, **beat))
    house.core.group.epoch += 1
    await peer.exchange(peer.frame(12, 4, 2, **beat))
    assert not house.core.renewed and len(house.core.requests) == 2


async def test_hundreds_of_connections_at_once(build):
    house = await build()
    peers = await asyncio.gather(*(house.peer() for _ in range(300)))
    answers = await asyncio.gather(*(peer.exchange(peer.frame(18, 0, number)) for number, peer in enumerate(peers)))
    assert [int.from_bytes(answer[:4], "big") for answer in answers] == list(range(300))
    assert house.server.counters.connections_opened == 300


async def test_codecs_are_ready_before_anybody_asks(build):
    house = await build()
    codecs = house.server.driver.codecs
    wanted = [(key, version) for key in (3, 10, 11, 12, 14, 18) for version in range(APIS[key].versions.highest + 1)]
    await house.until(lambda: all(codecs.of(*pair).kept for pair in wanted))
    peer = await house.peer()
    await peer.exchange(peer.frame(18, 0))


async def test_sinks_are_loaded_on_another_thread_before_anybody_asks(build):
    house = await build()
    loaded_by: Queue[int] = Queue()
    house.sink.load = lambda: loaded_by.put(threading.get_ident())
    assert await asyncio.to_thread(loaded_by.get, timeout=60) != threading.get_ident()


@pytest.mark.parametrize("most", [-1, 1_000_000])
async def test_a_request_in_two_pieces_is_waited_for(build, most):
    """The value -1, which is Kafka's default, means that the bytes held by connections are unlimited."""
    house = await build(queued_max_request_bytes=most)
    peer = await house.peer()
    frame = peer.frame(18, 0)
    peer.write(frame[:-1])
    await house.until(lambda: house.server.counters.held_bytes > 0)
    peer.write(frame[-1:])
    assert await peer.correlation() == 1
