"""Watches a server from outside, phase by phase of a worker's work."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

SETTLED_S = 1.0
"""The time after a phase in which the server does what it has put off."""


class Watch:
    """Measures the longest pause of the server in each phase. A bystander asks for ApiVersions all the time, so that a server whose loop
    has time for others reads and writes."""

    def __init__(self, endpoint: tuple[str, int], pid: int) -> None:
        self._asked = (("pause", str(pid)), ("bystander", *map(str, endpoint)))
        self.pauses: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        with ExitStack() as stack:
            watchers = [stack.enter_context(self._watcher(*words)) for words in self._asked]
            yield
            time.sleep(SETTLED_S)
            told = []
            for watcher in watchers:
                watcher.terminate()
                told.append(watcher.communicate()[0])
            self.pauses[name] = json.loads(told[0])["longest_ms"]

    @staticmethod
    def _watcher(*words: str) -> subprocess.Popen[str]:
        name, *rest = words
        watcher = subprocess.Popen([sys.executable, "-m", f"benchmarks.workers.{name}", *rest], stdout=subprocess.PIPE, text=True)
        assert watcher.stdout is not None and watcher.stdout.readline()
        return watcher
