"""A dialogue over TCP keeps its time limits and measures how late its own machine was. The clock moves when the test selects."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from groupmock_clients.probe.stages.access import Access
from groupmock_clients.probe.stages.contract import TimeUp
from groupmock_clients.probe.stages.tcp_broker import TcpBroker
from groupmock_clients.probe.stages.tcp_stage import LOOK_MS, TcpStage
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest


class Clock(selectors.DefaultSelector):
    """A clock that advances while the stage waits in select, `late` seconds too far, and on which no data ever arrives."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.late = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        assert timeout is not None, "nothing would ever end this"
        self.now += timeout + self.late
        return []


class Somewhere:
    """An address that accepts connections and never sends anything, as the stage requires."""

    release, settings, patience, access = "4.3", {"group.max.size": "5"}, 1.0, Access()

    def __init__(self, port: int) -> None:
        self.host, self.port = "127.0.0.1", port


Begin = Callable[..., tuple[TcpStage, Clock]]


@pytest.fixture
def begin() -> Iterator[Begin]:
    stages = []
    with socket.create_server(("127.0.0.1", 0)) as silent:

        def one(**how: Any) -> tuple[TcpStage, Clock]:
            clock = Clock()
            broker = cast(TcpBroker, Somewhere(silent.getsockname()[1]))
            stages.append(TcpStage(broker, clock=lambda: clock.now, selector=clock, **how))
            return stages[-1], clock

        yield one
        for stage in stages:
            stage.close()


def test_a_dialogue_that_stays_silent_ends_when_its_time_is_up(begin: Begin) -> None:
    stage, clock = begin(seconds=120)
    stage.send("A", 12, 0, "A", HeartbeatRequest(group_id="g"))
    with pytest.raises(TimeUp, match="not over after 120 s"):
        stage.answer("A", 308_000)
    assert clock.now == 120


def test_so_does_one_that_lets_time_pass(begin: Begin) -> None:
    stage, clock = begin(seconds=120)
    with pytest.raises(TimeUp):
        stage.pause(308_000)
    assert clock.now == 120


def test_a_wait_that_ends_before_is_as_long_as_it_was_asked_for(begin: Begin) -> None:
    stage, clock = begin(seconds=120)
    assert stage.answer("A", 100_250) is None
    assert clock.now == 100.25


def test_nobody_goes_on_when_there_is_no_point(begin: Begin) -> None:
    clock: Clock
    stage, clock = begin(seconds=120, over=lambda: clock.now > 7)
    with pytest.raises(TimeUp, match="the broker is gone"):
        stage.answer("A", 60_000)
    assert clock.now <= 7 + LOOK_MS / 1000


def test_waking_late_is_a_stall_of_ones_own(begin: Begin) -> None:
    stage, clock = begin()
    stage.pause(200)
    assert stage.stalled_ms == 0
    clock.late = 0.3
    stage.pause(200)
    assert stage.stalled_ms == pytest.approx(300)
    assert stage.answer("A", 100) is None
    assert stage.stalled_ms == pytest.approx(600)


def test_so_is_time_that_passes_between_two_steps(begin: Begin) -> None:
    stage, clock = begin()
    stage.send("A", 12, 0, "A", HeartbeatRequest(group_id="g"))
    clock.now += 0.4
    stage.send("A", 12, 0, "A", HeartbeatRequest(group_id="g"))
    assert stage.stalled_ms == pytest.approx(400)
    stage.pause(50)
    assert stage.stalled_ms == pytest.approx(400)
