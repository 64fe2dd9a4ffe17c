"""Heartbeats a second of members that really joined, against the bare echo and against librdkafka's mock.

A round measures every server in a fresh process, one after the other, so that a slow minute of the host hits them alike;
its value is the ratio inside the round.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from .. import servers
from ..bench import Bench
from ..generators import Cell, Failed, Missing, Rate, Server, rate_of
from ..join import Group, heartbeat, join, write_payloads
from ..machine import Cores
from ..targets import TARGETS

CELLS = (Cell(100, 1), Cell(1000, 1), Cell(1, 64))
KEYS = tuple(key for key in TARGETS if key.startswith("heartbeats."))
INITIAL_DELAY = "group.initial.rebalance.delay.ms=300"
OPTIONAL = {"kfake": servers.kfake, "kafka": servers.kafka}
PASSES = {"kafka": 4}
"""A Java server is measured when its code is compiled."""

Start = Callable[[Cores], AbstractContextManager[Server]]


def members_of(cell: Cell) -> int:
    """One member per connection."""
    return cell.connections


def product(cores: Cores) -> AbstractContextManager[Server]:
    """groupmock with a delay that lets a thousand raw members meet in one generation."""
    return servers.groupmock(cores, "--set", INITIAL_DELAY)


def rate(bench: Bench, start: Start, cell: Cell, joined: bool = True, passes: int = 1) -> Rate:
    """One fresh server in one cell; the last of so many passes counts."""
    seconds = bench.scaled(2.0, 0.3)

    def once() -> Rate:
        with tempfile.TemporaryDirectory(prefix="groupmock-bench-") as folder, start(bench.cores) as server:
            payloads = Path(folder) / "heartbeats.hex"
            group = join(server.endpoint, "bench", members_of(cell)) if joined else Group("bench", [])
            if joined:
                write_payloads([group], payloads)
            else:
                payloads.write_text(heartbeat("bench", 1, f"bench-{'0' * 36}").hex() + "\n")
            try:
                return [rate_of(server, cell, payloads, bench.cores, seconds) for _ in range(passes)][-1]
            finally:
                group.close()

    return bench.quiet.take(once)


def run(bench: Bench) -> None:
    """Fills the six ratios, cell by cell; optional peers become details."""
    for cell in CELLS:
        for _ in range(bench.repeat):
            _round(bench, cell)


def _round(bench: Bench, cell: Cell) -> None:
    echo = rate(bench, servers.echo, cell, joined=False)
    tell(bench, "echo", cell, echo)
    mock = _optional(bench, "librdkafka's mock", servers.cmock, cell)
    for name in sorted(bench.peers & OPTIONAL.keys()):
        _optional(bench, name, OPTIONAL[name], cell)
    ours = rate(bench, product, cell)
    tell(bench, "groupmock", cell, ours)
    bench.results.add(f"heartbeats.echo.{cell}", ours.per_second / echo.per_second)
    if isinstance(mock, str):
        bench.results.missing([f"heartbeats.cmock.{cell}"], mock)
    else:
        bench.results.add(f"heartbeats.cmock.{cell}", ours.per_second / mock.per_second)


def tell(bench: Bench, name: str, cell: Cell, measured: Rate) -> None:
    """The absolute figures, as details."""
    bench.results.detail(f"{cell} {name}, requests/s", measured.per_second)
    bench.results.detail(f"{cell} {name}, server CPU us/request", measured.cpu_us)


def _optional(bench: Bench, name: str, start: Start, cell: Cell) -> Rate | str:
    """A peer's rate, or the reason why it is not to be had."""
    try:
        measured = rate(bench, start, cell, passes=PASSES.get(name, 1))
    except (Missing, Failed) as reason:
        bench.results.note(f"{name}, {cell}: {reason}")
        return str(reason)
    tell(bench, name, cell, measured)
    return measured
