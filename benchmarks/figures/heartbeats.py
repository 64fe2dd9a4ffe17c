"""Measures heartbeats of members that really joined, against the bare echo (by CPU) and against librdkafka's mock (by rate).

A round measures every server in a fresh process, one after the other, so that a slow minute of the host slows all of them; its value is the
ratio inside the round.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from .. import servers
from ..bench import Bench
from ..generators import Failed, Load, Missing, Rate, RunningServer, rate_of
from ..join import Group, Joined, heartbeat, join, write_payloads
from ..machine import Cores
from ..targets import TARGETS

LOADS = (Load(100, 1), Load(1000, 1), Load(1, 64))
KEYS = tuple(key for key in TARGETS if key.startswith("heartbeats."))
INITIAL_DELAY = "group.initial.rebalance.delay.ms=300"
OPTIONAL = {"kfake": servers.kfake, "kafka": servers.kafka}
PASSES = {"kafka": 4}
"""Maps a server to the number of measurements of which only the last counts, because a Java server needs several until its code is
compiled."""

Start = Callable[[Cores], AbstractContextManager[RunningServer]]


def members_of(load: Load) -> int:
    return load.connections


def product(cores: Cores) -> AbstractContextManager[RunningServer]:
    """Start groupmock with an initial rebalance delay in which a thousand raw members meet in one generation."""
    return servers.groupmock(cores, "--set", INITIAL_DELAY)


def classic(server: RunningServer, load: Load) -> Joined:
    """Join members of the classic protocol in one generation."""
    return join(server.endpoint, "bench", members_of(load))


def rate(
    bench: Bench, start: Start, load: Load, joined: bool = True, passes: int = 1, members: Callable[[RunningServer, Load], Joined] = classic
) -> Rate:
    """Measure the rate of heartbeats of one fresh server under one load. The last of `passes` counts."""
    seconds = bench.scaled(2.0, 0.3)

    def once() -> Rate:
        with tempfile.TemporaryDirectory(prefix="groupmock-bench-") as folder, start(bench.cores) as server:
            payloads = Path(folder) / "heartbeats.hex"
            group = members(server, load) if joined else Group("bench", [])
            if joined:
                write_payloads([group], payloads)
            else:
                payloads.write_text(heartbeat("bench", 1, f"bench-{'0' * 36}").hex() + "\n")
            try:
                return [rate_of(server, load, payloads, bench.cores, seconds) for _ in range(passes)][-1]
            finally:
                group.close()

    return bench.quiet.take(once)


def run(bench: Bench) -> None:
    """Fill the six ratios of the figure, load by load. Optional peers become details."""
    for load in LOADS:
        for _ in range(bench.repeat):
            _round(bench, load)


def _round(bench: Bench, load: Load) -> None:
    echo = rate(bench, servers.echo, load, joined=False)
    tell(bench, "echo", load, echo)
    mock = _optional(bench, "librdkafka's mock", servers.cmock, load)
    for name in sorted(bench.peers & OPTIONAL.keys()):
        _optional(bench, name, OPTIONAL[name], load)
    ours = rate(bench, product, load)
    tell(bench, "groupmock", load, ours)
    bench.results.add(f"heartbeats.echo.{load}", echo.cpu_us / ours.cpu_us)
    if isinstance(mock, str):
        bench.results.missing([f"heartbeats.cmock.{load}"], mock)
    else:
        bench.results.add(f"heartbeats.cmock.{load}", ours.per_second / mock.per_second)


def tell(bench: Bench, name: str, load: Load, measured: Rate) -> None:
    """Add the absolute rate and CPU of a server as details."""
    bench.results.detail(f"{load} {name}, requests/s", measured.per_second)
    bench.results.detail(f"{load} {name}, server CPU us/request", measured.cpu_us)


def _optional(bench: Bench, name: str, start: Start, load: Load) -> Rate | str:
    """Return the rate of an optional peer, or the reason why it could not be measured."""
    try:
        measured = rate(bench, start, load, passes=PASSES.get(name, 1))
    except (Missing, Failed) as reason:
        bench.results.note(f"{name}, {load}: {reason}")
        return str(reason)
    tell(bench, name, load, measured)
    return measured
