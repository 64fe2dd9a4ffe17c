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
from ..generators import Cell, Missing, requests_per_second
from ..join import Group, heartbeat, join, write_payloads
from ..machine import Cores
from ..targets import TARGETS

CELLS = (Cell(100, 1), Cell(1000, 1), Cell(1, 64))
KEYS = tuple(key for key in TARGETS if key.startswith("heartbeats."))
INITIAL_DELAY = "group.initial.rebalance.delay.ms=300"
OPTIONAL = {"kfake": servers.kfake, "kafka": servers.kafka}

Start = Callable[[Cores], AbstractContextManager[servers.Server]]


def members_of(cell: Cell) -> int:
    """One member per connection."""
    return cell.connections


def product(cores: Cores) -> AbstractContextManager[servers.Server]:
    """groupmock with a delay that lets a thousand raw members meet in one generation."""
    return servers.groupmock(cores, "--set", INITIAL_DELAY)


def rate(bench: Bench, start: Start, cell: Cell, joined: bool = True) -> float:
    """Heartbeats a second of one fresh server in one cell."""
    seconds = bench.scaled(2.0, 0.3)

    def once() -> float:
        with tempfile.TemporaryDirectory(prefix="groupmock-bench-") as folder, start(bench.cores) as server:
            payloads = Path(folder) / "heartbeats.hex"
            group = join(server.endpoint, "bench", members_of(cell)) if joined else Group("bench", [])
            if joined:
                write_payloads([group], payloads)
            else:
                payloads.write_text(heartbeat("bench", 1, f"bench-{'0' * 36}").hex() + "\n")
            try:
                return requests_per_second(cell, server.endpoint, payloads, bench.cores, seconds)
            finally:
                group.close()

    return bench.quiet.take(once)


def run(bench: Bench) -> None:
    """Fills the six ratios, cell by cell; optional peers become details."""
    for cell in CELLS:
        for _ in range(bench.repeat):
            _round(bench, cell)


def _round(bench: Bench, cell: Cell) -> None:
    results = bench.results
    echo = rate(bench, servers.echo, cell, joined=False)
    results.detail(f"echo {cell}, requests/s", echo)
    mock = _optional(bench, "heartbeats.cmock", servers.cmock, cell)
    if mock is not None:
        results.detail(f"librdkafka mock {cell} / echo", mock / echo)
    for name in sorted(bench.peers & OPTIONAL.keys()):
        other = _optional(bench, None, OPTIONAL[name], cell)
        if other is not None:
            results.detail(f"{name} {cell} / echo", other / echo)
    ours = rate(bench, product, cell)
    results.detail(f"groupmock {cell}, requests/s", ours)
    results.add(f"heartbeats.echo.{cell}", ours / echo)
    if mock is not None:
        results.add(f"heartbeats.cmock.{cell}", ours / mock)


def _optional(bench: Bench, key: str | None, start: Start, cell: Cell) -> float | None:
    """A peer's rate, or None and the reason where it is not to be had."""
    try:
        return rate(bench, start, cell)
    except Missing as reason:
        if key is not None:
            bench.results.missing([f"{key}.{cell}"], str(reason))
        else:
            bench.results.note(str(reason))
        return None
