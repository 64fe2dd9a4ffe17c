"""Repeats the figure `heartbeats` with every frame written to a journal file, against the same echo server."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .. import servers
from ..bench import Bench
from ..generators import RunningServer
from ..machine import Cores
from ..targets import TARGETS
from .heartbeats import INITIAL_DELAY, LOADS, rate, tell

KEYS = tuple(key for key in TARGETS if key.startswith("journal."))


@contextmanager
def journalled(cores: Cores) -> Iterator[RunningServer]:
    """Start groupmock that writes its journal to a file in the default temporary folder."""
    with tempfile.TemporaryDirectory(prefix="groupmock-bench-journal-") as folder:
        journal = Path(folder) / "journal.jsonl"
        with servers.groupmock(cores, "--set", INITIAL_DELAY, "--journal", str(journal)) as server:
            yield server


def run(bench: Bench) -> None:
    for load in LOADS:
        for _ in range(bench.repeat):
            echo = rate(bench, servers.echo, load, joined=False)
            ours = rate(bench, journalled, load)
            bench.results.add(f"journal.echo.{load}", ours.per_second / echo.per_second)
            tell(bench, "groupmock with journal", load, ours)
