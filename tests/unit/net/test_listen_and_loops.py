"""Tests listeners, the acceptor without free descriptors, addresses as Java prints them, the choice of event loop, and both clocks."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import subprocess
import sys

import pytest
import uvloop

from groupmock import Broker
from groupmock.net.clock import LoopClock, VirtualClock
from groupmock.net.listen import Acceptor, java_host, listen
from groupmock.net.loops import UnknownLoop, loop_factory, new_loop, run
from groupmock_codec.units import NS_PER_MS


@pytest.mark.parametrize(
    ("host", "java"),
    [
        ("127.0.0.1", "/127.0.0.1"),
        ("::1", "/0:0:0:0:0:0:0:1"),
        ("fe80::a1%eth0", "/fe80:0:0:0:0:0:0:a1"),
        ("2001:db8::ff00:42", "/2001:db8:0:0:0:0:ff00:42"),
    ],
)
def test_java_host(host, java):
    assert java_host(host) == java


def test_a_taken_port_is_an_error():
    with listen("127.0.0.1", 0) as first:
        with pytest.raises(OSError) as taken:
            listen("127.0.0.1", first.getsockname()[1])
    assert taken.value.errno == errno.EADDRINUSE


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "0.0.0.0"])
def test_listeners_do_not_block_nor_delay(host):
    with listen(host, 0) as listener:
        assert listener.getsockname()[0] == host
        assert not listener.getblocking()
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


class Exhausted:
    """A listener whose accept fails for a while."""

    def __init__(self, listener: socket.socket, failures: int, number: int) -> None:
        self._listener, self.failures, self.number = listener, failures, number

    def accept(self):
        if self.failures:
            self.failures -= 1
            raise OSError(self.number, "no more")
        return self._listener.accept()

    def fileno(self) -> int:
        return self._listener.fileno()

    def close(self) -> None:
        self._listener.close()


async def accepting(number: int, failures: int) -> tuple[list[str], int]:
    """Return reported problems and accepted connections for a listener whose accept fails this often."""
    listener = Exhausted(listen("127.0.0.1", 0), failures, number)
    taken: asyncio.Queue[socket.socket] = asyncio.Queue()
    troubles: list[str] = []
    acceptor = Acceptor(listener, lambda accepted, host, port: taken.put_nowait(accepted), lambda: True, troubles.append)
    _, writer = await asyncio.open_connection("127.0.0.1", listener._listener.getsockname()[1])
    async with asyncio.timeout(60):
        (await taken.get()).close()
    writer.close()
    acceptor.close()
    return troubles, taken.qsize()


async def test_out_of_descriptors_is_told_and_tried_again():
    assert await accepting(errno.EMFILE, 2) == (["no more", "no more"], 0)


async def test_a_client_that_gave_up_before_it_was_accepted_is_no_trouble():
    assert await accepting(errno.ECONNABORTED, 2) == ([], 0)


async def test_acceptor_takes_so_many_clients_at_once():
    listener, taken = listen("127.0.0.1", 0), []
    acceptor = Acceptor(listener, lambda accepted, host, port: taken.append(accepted), lambda: True, lambda reason: None, 2)
    clients = [socket.create_connection(listener.getsockname()) for _ in range(5)]
    for most in (2, 4, 5):
        acceptor._ready()
        assert len(taken) == most
    acceptor.close()
    for each in (*clients, *taken):
        each.close()


def test_uvloop_is_the_default(monkeypatch):
    monkeypatch.delenv("GROUPMOCK_LOOP", raising=False)
    assert loop_factory() is uvloop.new_event_loop


def test_asyncio_where_there_is_no_uvloop(monkeypatch):
    monkeypatch.delenv("GROUPMOCK_LOOP", raising=False)
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loop_factory() is asyncio.new_event_loop


def test_uvloop_asked_for_and_absent_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvloop", None)
    with pytest.raises(ImportError):
        loop_factory("uvloop")


def test_the_environment_chooses(monkeypatch):
    monkeypatch.setenv("GROUPMOCK_LOOP", "asyncio")
    loop = new_loop()
    loop.close()
    assert not isinstance(loop, uvloop.Loop)
    monkeypatch.setenv("GROUPMOCK_LOOP", "twisted")
    with pytest.raises(UnknownLoop, match="GROUPMOCK_LOOP=twisted: there are uvloop and asyncio"):
        new_loop()


def test_run_runs_on_the_chosen_loop(monkeypatch):
    monkeypatch.setenv("GROUPMOCK_LOOP", "uvloop")

    async def which() -> type:
        return type(asyncio.get_running_loop())

    assert run(which()) is uvloop.Loop


async def test_the_loop_clock_is_never_early():
    clock = LoopClock()
    rung = asyncio.Event()
    when = clock.now() + 20 * NS_PER_MS
    seen: list[int] = []

    def ring() -> None:
        seen.append(clock.now())
        if seen[-1] < when:  # uvloop measures from the start of its turn, so the callback checks the time again, as the driver does.
            clock.call_at(when, ring)
        else:
            rung.set()

    clock.call_at(when, ring)
    async with asyncio.timeout(60):
        await rung.wait()
    assert seen[-1] >= when and len(seen) <= 3, "and it does not spin"


async def test_an_appointment_with_the_loop_clock_can_be_called_off():
    clock = LoopClock()
    called: list[int] = []
    clock.call_at(clock.now(), lambda: called.append(1)).cancel()
    await asyncio.sleep(0.01)
    assert called == []


def test_virtual_time_stands_still_and_keeps_appointments_in_order():
    clock = VirtualClock()
    kept: list[tuple[str, int]] = []

    def again() -> None:
        kept.append(("first", clock.now()))
        clock.call_at(clock.now() + 5, lambda: kept.append(("made meanwhile", clock.now())))

    clock.call_at(20, lambda: kept.append(("second", clock.now())))
    clock.call_at(10, again)
    clock.call_at(20, lambda: kept.append(("third", clock.now())))
    clock.call_at(12, lambda: kept.append(("never", clock.now()))).cancel()
    assert clock.now() == 0 and kept == []
    clock.advance(1)
    assert kept == [("first", 10), ("made meanwhile", 15), ("second", 20), ("third", 20)]
    assert clock.now() == NS_PER_MS


def test_appointments_that_are_over_do_not_pile_up_with_a_virtual_clock():
    clock = VirtualClock()
    kept: list[str] = []
    clock.call_at(10**9, lambda: kept.append("lasting"))
    for when in range(5_000):
        clock.call_at(10**8 + when, lambda: kept.append("never")).cancel()
    assert len(clock._appointments.heap) <= 100
    clock.step(10**9)
    assert kept == ["lasting"]


async def test_appointments_that_are_over_do_not_pile_up_with_the_loop():
    clock = LoopClock()
    handles = [clock.call_at(clock.now() + 10**12 + number, lambda: None) for number in range(2_000)]
    for handle in handles:
        handle.cancel()
        handle.cancel()
    assert len(clock.alarms.heap) <= 100
    assert list(clock.alarms) == []


def test_an_appointment_of_before_a_replay_is_called_off_without_harm():
    clock = VirtualClock()
    kept: list[str] = []
    before = [clock.call_at(number, lambda: kept.append("never")) for number in range(200)]
    clock.move_to(5)
    clock.call_at(6, lambda: kept.append("kept"))
    for handle in before:
        handle.cancel()
    clock.step(10)
    assert kept == ["kept"]


def test_two_virtual_clocks_write_the_same_epoch():
    assert VirtualClock().epoch_ns == VirtualClock().epoch_ns


@pytest.mark.parametrize("verb", [["serve", "--port", "0"], ["run", "--", "true"]], ids=["serve", "run"])
def test_an_unknown_loop_is_bad_use_in_one_line(verb):
    environment = {**os.environ, "GROUPMOCK_LOOP": "twisted"}
    done = subprocess.run([sys.executable, "-m", "groupmock", *verb], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "GROUPMOCK_LOOP=twisted: there are uvloop and asyncio" in done.stderr


def test_an_unknown_loop_is_told_to_who_starts_a_broker(monkeypatch):
    monkeypatch.setenv("GROUPMOCK_LOOP", "twisted")
    with pytest.raises(UnknownLoop):
        Broker().start()
