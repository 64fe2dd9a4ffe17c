"""Requests that have arrived when a timer becomes due are handled before the timer, on both loops and in a model of a loop."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Callable
from typing import Any

import pytest
from turns_of_loop import until

from groupmock.config.limits import Limits
from groupmock.core.core import core_of
from groupmock.core.identity import Identity, Node
from groupmock.core.settings import Quirks, Settings
from groupmock.journal.file import FileSink
from groupmock.journal.journal import Journal
from groupmock.net.clock import LoopClock, VirtualClock
from groupmock.net.server import Server
from groupmock.rig.replay import replay
from groupmock.rig.versions import every_version
from groupmock.rig.wire import request
from groupmock_codec import APIS
from groupmock_codec.api_keys import JOIN_GROUP, SYNC_GROUP
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest
from groupmock_codec.units import NS_PER_MS


async def test_bytes_that_are_there_when_a_timer_is_set_for_now_are_handled_before_it(house):
    """A peer's bytes arrive during another request, which leaves a timer that is due at once. A loop that calls back before it polls its
    sockets would fire the timer first, as uvloop did."""
    first, order, handle = await house.peer(), [], house.core.handle
    late = await connected(house.server, house.port)

    def handled(event: Any, now: int) -> Any:
        order.append(event.version)
        if event.version == 0:
            late.send(first.frame(18, 1))  # On loopback the bytes are in the server's receive buffer when this call returns.
            house.core.due = now
        return handle(event, now)

    def fired(now: int) -> list[Any] | None:
        if house.core.due is None:
            return None
        order.append("timer")
        house.core.due = None
        return []

    house.core.handle, house.core.expire = handled, fired
    await first.exchange(first.frame(18, 0))
    await house.until(lambda: len(order) == 3)
    late.close()
    assert order == [0, 1, "timer"]


async def connected(server: Server, port: int) -> socket.socket:
    """Return a connection that the server has accepted, so that sent bytes are visible to the next poll of its loop."""
    opened = server.counters.connections_opened
    peer = socket.create_connection(("127.0.0.1", port))
    peer.setblocking(False)
    await until(lambda: server.counters.connections_opened > opened)
    return peer


class TimersFirst:
    """A loop that handles scheduled callbacks first, then timers and finally sockets, like libuv."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.timers: list[Callable[[], None]] = []

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def call_later(self, delay: float, callback: Callable[[], None]) -> None:
        assert delay > 0
        self.timers.append(callback)

    def turn(self, timers_due: bool, arrived: Callable[[], None]) -> None:
        soon, self.soon = self.soon, []
        for callback in soon:
            callback()
        timers, self.timers = (self.timers, []) if timers_due else ([], self.timers)
        for callback in timers:
            callback()
        arrived()


def test_bytes_that_are_there_when_an_appointment_comes_up_are_handled_before_it(monkeypatch):
    loop, order = TimersFirst(), []
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)
    clock = LoopClock()
    clock.call_at(clock.now() + 1000 * NS_PER_MS, lambda: order.append("timer"))
    for turn in range(5):
        loop.turn(turn == 1, lambda turn=turn: order.append(turn))  # type: ignore[misc]  # the turn's number
    assert order.index(1) < order.index("timer"), "what could be read in the turn in which it came up"
    assert order.index("timer") <= order.index(3), "and no longer"


# -- a static member that is started twice ------------------------------------------------------------------------------------------------


class Kitchen:
    """A server with a real core on the test's loop and a complete journal in a file."""

    def __init__(self, path: Any, header: Any, quirks: Quirks, clock: LoopClock | VirtualClock | None = None) -> None:
        identity = Identity(
            "kitchen", (Node(1, "127.0.0.1", 0),), every_version((JOIN_GROUP, SYNC_GROUP))
        )
        settings = Settings(group_initial_rebalance_delay_ms=0, quirks=quirks)
        self.clock = clock or LoopClock()
        core = core_of(settings, identity, random.Random(header.seed), self.clock.epoch_ns // NS_PER_MS)
        header.epoch_ns = self.clock.epoch_ns
        self.server = Server(core, self.clock, Journal(header, [FileSink(str(path), self.server_failed)]), Limits())

    def server_failed(self, reason: str) -> None:
        raise AssertionError(reason)

    async def open(self) -> None:
        self.port = (await self.server.start({1: ("127.0.0.1", 0)}))[1]

    async def peer(self) -> socket.socket:
        return await connected(self.server, self.port)

    @staticmethod
    def send(peer: socket.socket, key: int, version: int, message: Any) -> None:
        peer.send(request(key, version, message, client_id="c"))

    @staticmethod
    async def receive(peer: socket.socket, key: int, version: int) -> Any:
        loop, data = asyncio.get_running_loop(), b""
        async with asyncio.timeout(20):
            while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
                got = await loop.sock_recv(peer, 65536)
                assert got, "the server closed the connection"
                data += got
        # The decoder starts after nine bytes: size, correlation id and the empty list of tags.
        return APIS[key].response.decode(version, data[9:])


def join() -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id="g", session_timeout_ms=60_000, rebalance_timeout_ms=60_000, group_instance_id="i", protocol_type="x",
        protocols=[JoinGroupRequestProtocol(name="p")],
    )  # fmt: skip


async def stable(kitchen: Kitchen, member: socket.socket, begun: Callable[[], None] = lambda: None) -> None:
    """Create a group with one static member. `begun`: its JoinGroup is there, the initial delay of 0 ms may end."""
    kitchen.send(member, JOIN_GROUP, 9, join())
    await until(lambda: kitchen.server.counters.handled)
    begun()
    joined = await kitchen.receive(member, JOIN_GROUP, 9)
    sync = SyncGroupRequest(group_id="g", generation_id=1, member_id=joined.member_id, protocol_type="x", protocol_name="p")
    kitchen.send(member, SYNC_GROUP, 5, sync)
    assert (await kitchen.receive(member, SYNC_GROUP, 5)).error_code == 0


@pytest.mark.parametrize(("quirks", "codes"), [(Quirks(), [82, 82, 0]), (Quirks(replacement_answered_at_once=True), [0, 0, 0])])
async def test_of_restarts_that_arrive_together_the_last_is_answered(tmp_path, header, quirks, codes):
    """The complete journal replays to the same rows."""
    kitchen = Kitchen(tmp_path / "j", header, quirks)
    await kitchen.open()
    member = await kitchen.peer()
    await stable(kitchen, member)
    again = [await kitchen.peer() for _ in codes]
    for peer in again:
        kitchen.send(peer, JOIN_GROUP, 9, join())
    answers = [await kitchen.receive(peer, JOIN_GROUP, 9) for peer in again]
    alone = await kitchen.peer()
    kitchen.send(alone, JOIN_GROUP, 9, join())
    last = await kitchen.receive(alone, JOIN_GROUP, 9)
    for peer in (member, *again, alone):
        peer.close()
    await kitchen.server.close()
    # The kernel decides in which order the sockets become readable, so the codes are sorted.
    assert sorted(answer.error_code for answer in answers) == sorted(codes)
    assert (last.error_code, len({answer.member_id for answer in answers})) == (0, 3)
    result = replay(tmp_path / "j")
    assert result.difference is None, str(result.difference)


async def test_a_restart_whose_record_is_written_is_answered_though_the_server_stops(tmp_path, header):
    clock = VirtualClock()
    kitchen = Kitchen(tmp_path / "j", header, Quirks(), clock)
    await kitchen.open()
    member, again = await kitchen.peer(), await kitchen.peer()
    await stable(kitchen, member, lambda: clock.advance(0))
    handled = kitchen.server.counters.handled
    kitchen.send(again, JOIN_GROUP, 9, join())
    await until(lambda: kitchen.server.counters.handled > handled)
    closing = asyncio.create_task(kitchen.server.close())
    assert (await kitchen.receive(again, JOIN_GROUP, 9)).error_code == 0
    member.close()
    again.close()
    await closing
