"""Nodes are stalled, stopped and started, and the clock is stepped, while real connections exist."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from random import Random

import pytest
from stub_core import frame
from turns_of_loop import until

from groupmock.config.limits import Limits
from groupmock.core.core import core_of
from groupmock.core.events import Command
from groupmock.core.identity import Identity, Node
from groupmock.core.settings import Settings
from groupmock.journal.journal import Journal
from groupmock.journal.rows import Header
from groupmock.net.clock import LoopClock
from groupmock.net.connection import FINISHED
from groupmock.net.server import Server
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.versions import every_version
from groupmock.rig.wire import AsyncClient
from groupmock_codec import APIS
from groupmock_codec.api_keys import API_VERSIONS
from groupmock_codec.messages.k11_join_group import JoinGroupRequestProtocol
from groupmock_codec.units import NS_PER_MS

RANGE = [JoinGroupRequestProtocol(name="range", metadata=b"")]


class Pair:
    def __init__(self, server: Server, sink: KeptRows, clock: LoopClock, ports: dict[int, int]) -> None:
        self.server, self.sink, self.clock, self.ports = server, sink, clock, ports
        self.wires: list[AsyncClient] = []

    async def connect(self, node: int) -> AsyncClient:
        self.wires.append(AsyncClient(*await asyncio.open_connection("127.0.0.1", self.ports[node])))
        return self.wires[-1]

    def tell(self, name: str, **arguments: object) -> None:
        self.server.submit(Command(name, arguments))


@pytest.fixture
async def pair(header: Header) -> AsyncIterator[Pair]:
    clock, sink = LoopClock(), KeptRows()
    identity = Identity(
        "pair", (Node(1, "127.0.0.1", 0), Node(2, "127.0.0.1", 0)), every_version(APIS)
    )
    core = core_of(Settings(group_initial_rebalance_delay_ms=3000), identity, Random(1), 0)
    server = Server(core, clock, Journal(header, [sink]), Limits())
    ports = await server.start({1: ("127.0.0.1", 0), 2: ("127.0.0.1", 0)})
    running = Pair(server, sink, clock, ports)
    yield running
    for wire in running.wires:
        wire.writer.close()
    await server.close()


async def test_a_stalled_node_says_nothing_and_then_everything_in_order(pair: Pair) -> None:
    wire, other = await pair.connect(2), await pair.connect(1)
    await wire.exchange(frame(API_VERSIONS, 0))
    pair.tell("stall_node", node=2)
    wire.write(frame(API_VERSIONS, 0, 2) + frame(API_VERSIONS, 0, 3))
    late = await pair.connect(2)
    late.write(frame(API_VERSIONS, 0, 4))
    await other.exchange(frame(API_VERSIONS, 0))
    await until(lambda: sum(one.waiting > 0 for one in pair.server.driver.connections.values()) == 2)
    assert pair.server.counters.handled == 2
    pair.tell("start_node", node=2)
    assert [(await wire.receive())[:4], (await wire.receive())[:4]] == [b"\0\0\0\2", b"\0\0\0\3"]
    assert (await late.receive())[:4] == b"\0\0\0\4"


async def test_an_answer_that_falls_due_while_the_node_is_stalled_comes_after_it(pair: Pair) -> None:
    wire, other = await pair.connect(1), await pair.connect(2)
    pair.tell("hold_group", group="g", state="Empty")
    node = pair.server.core.cluster.groups.hosting.node_of("g")
    waiting = wire if node == 1 else other
    waiting.write(frame(11, 0, 7, group_id="g", session_timeout_ms=10_000, protocol_type="consumer", protocols=[]))
    await until(lambda: any(one.call for one in pair.server.driver.connections.values()))
    pair.tell("stall_node", node=node)
    pair.tell("release_group", group="g")
    assert [row.error for row in pair.sink.of("reply")] == ["INCONSISTENT_GROUP_PROTOCOL"], "answered, as far as the core is concerned"
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(waiting.reader.read(1), 0.05)
    pair.tell("start_node", node=node)
    assert (await waiting.receive())[:4] == b"\0\0\0\7"


async def test_who_finished_its_half_while_the_node_is_stalled_still_gets_its_answers(pair: Pair) -> None:
    pair.tell("stall_node", node=2)
    wire = await pair.connect(2)
    wire.write(frame(API_VERSIONS, 0, 6) + frame(API_VERSIONS, 0, 7))
    wire.writer.write_eof()
    await until(lambda: any(one.state & FINISHED for one in pair.server.driver.connections.values()))
    pair.tell("start_node", node=2)
    assert [(await wire.receive())[:4], (await wire.receive())[:4]] == [b"\0\0\0\6", b"\0\0\0\7"]
    assert await wire.ended() == b""


async def test_a_stall_that_ends_by_itself(pair: Pair) -> None:
    wire = await pair.connect(2)
    pair.tell("stall_node", node=2, ms=60_000)
    wire.write(frame(API_VERSIONS, 0, 5))
    pair.tell("step_clock", ms=60_000)
    assert (await wire.receive())[:4] == b"\0\0\0\5"
    assert [row.timer for row in pair.sink.of("timer")] == ["stall"]


async def test_a_stopped_node_closes_and_refuses_and_takes_connections_again_on_its_port(pair: Pair) -> None:
    wire, other = await pair.connect(2), await pair.connect(1)
    await wire.exchange(frame(API_VERSIONS, 0))
    pair.tell("stop_node", node=2)
    assert await wire.ended() == b""
    with pytest.raises(ConnectionRefusedError):
        await pair.connect(2)
    await other.exchange(frame(API_VERSIONS, 0))
    pair.tell("start_node", node=2)
    assert (await (await pair.connect(2)).exchange(frame(API_VERSIONS, 0, 9)))[:4] == b"\0\0\0\x09"
    assert [row.what for row in pair.sink.of("note")] == ["node_stopped", "node_started"]


@pytest.mark.parametrize("clean", [True, False])
async def test_who_waits_at_a_node_that_stops_is_told_only_by_a_clean_stop(pair: Pair, clean: bool) -> None:
    node = pair.server.core.cluster.groups.hosting.node_of("g")
    wire = await pair.connect(node)
    wire.write(frame(11, 0, 3, group_id="g", session_timeout_ms=10_000, protocol_type="consumer", protocols=RANGE))
    await until(lambda: any(one.call for one in pair.server.driver.connections.values()))
    pair.tell("stop_node", node=node, clean=clean)
    left = await wire.ended()
    assert (left[4:8], left[8:10]) == ((b"\0\0\0\3", b"\0\x10") if clean else (b"", b""))


async def test_a_step_keeps_every_deadline_at_its_own_time_while_clients_stay(pair: Pair) -> None:
    node = pair.server.core.cluster.groups.hosting.node_of("g")
    wire, idle = await pair.connect(node), await pair.connect(node)
    timeouts = {"session_timeout_ms": 30_000, "rebalance_timeout_ms": 50_000}
    wire.write(frame(11, 1, 3, group_id="g", protocol_type="consumer", protocols=RANGE, **timeouts))
    await until(lambda: any(one.call for one in pair.server.driver.connections.values()))
    before = pair.clock.now()
    pair.tell("step_clock", ms=60_000)
    assert (await wire.receive())[:4] == b"\0\0\0\3"
    assert pair.clock.now() - before >= 60_000 * NS_PER_MS
    (joined,) = pair.sink.of("request")
    moves = [(row.after, round((row.t - joined.t) / (1000 * NS_PER_MS), 1)) for row in pair.sink.of("moved") if row.t > before]
    assert moves == [("CompletingRebalance", 3.0), ("PreparingRebalance", 33.0), ("Empty", 33.0)]
    await idle.exchange(frame(API_VERSIONS, 0))
    assert [row.name for row in pair.sink.of("command")] == ["step_clock"]


async def test_connections_idle_for_too_long_by_the_stepped_clock_are_closed(pair: Pair) -> None:
    wire = await pair.connect(1)
    await wire.exchange(frame(API_VERSIONS, 0))
    pair.tell("step_clock", ms=1_000_000)
    assert await wire.ended() == b""


async def test_appointments_after_a_step_come_in_their_rest_of_real_time(pair: Pair) -> None:
    rung: list[int] = []
    due = pair.clock.now() + 1000 * NS_PER_MS
    pair.clock.call_at(due, lambda: rung.append(pair.clock.now()))
    pair.clock.step(990 * NS_PER_MS)
    assert rung == []
    await until(lambda: rung)
    assert due - 2 * NS_PER_MS <= rung[0] < due + 500 * NS_PER_MS  # uvloop's timers have a resolution of whole milliseconds.


async def test_an_appointment_that_was_called_off_is_not_kept_by_a_step(pair: Pair) -> None:
    rung: list[str] = []
    pair.clock.call_at(pair.clock.now() + 10, lambda: rung.append("first")).cancel()
    pair.clock.call_at(pair.clock.now() + 20, lambda: rung.append("second"))
    pair.clock.step(NS_PER_MS)
    assert rung == ["second"]


async def test_a_step_of_a_month_ends(pair: Pair) -> None:
    """The step runs all periodic checks of idle connections and retention."""
    before = pair.clock.now()
    pair.tell("step_clock", ms=31 * 24 * 3600 * 1000)
    assert pair.clock.now() - before >= 31 * 24 * 3600 * 1000 * NS_PER_MS
