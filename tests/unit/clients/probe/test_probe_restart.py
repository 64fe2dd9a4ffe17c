"""The probe waits for a dead server that somebody else or its own command restarts, on a virtual clock."""

from __future__ import annotations

import sys
from typing import cast

import pytest

from groupmock_clients.probe.stages.restart import Restart, Restarted
from groupmock_clients.probe.stages.tcp_broker import NoBroker, TcpBroker


class Away:
    """A broker that is reachable again at the `back`-th attempt."""

    def __init__(self, back: int) -> None:
        self.looks, self.back = 0, back

    def connect_again(self) -> None:
        self.looks += 1
        if self.looks < self.back:
            raise NoBroker("cannot connect: Connection refused")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def nap(self, seconds: float) -> None:
        self.now += seconds


def revived(away: Away, seconds: float, left: float, *command: str) -> tuple[Restarted, float]:
    clock = Clock()
    restart = Restart(cast(TcpBroker, away), command, seconds, clock=lambda: clock.now, nap=clock.nap)
    try:
        return restart.revive(left), clock.now
    finally:
        restart.close()


def test_it_may_come_back_by_itself() -> None:
    assert revived(Away(11), 30, 900)[0] == Restarted(True, "it was back after 1.0 s")


@pytest.mark.parametrize(("seconds", "left"), [(30, 900), (900, 30)])
def test_it_is_waited_for_as_long_as_was_said_and_there_is_time(seconds: float, left: float) -> None:
    found, passed = revived(Away(10_000), seconds, left)
    assert not found.back and passed == pytest.approx(30, abs=0.2)
    assert found.how == "it did not come back within 30 s (--wait; --restart COMMAND tells how to start it)"


def test_no_time_is_one_look() -> None:
    away = Away(2)
    assert (revived(away, 0, 900)[0].back, away.looks) == (False, 1)


def test_a_command_that_stays_is_ended_with_us() -> None:
    away = Away(3)
    restart = Restart(cast(TcpBroker, away), [sys.executable, "-c", "import signal; signal.pause()"], nap=lambda seconds: None)
    assert restart.revive(900).how.startswith("started again by --restart in ")
    process = restart._process
    assert process is not None and process.poll() is None
    restart.close()
    assert process.returncode == -15
