"""Watches a single-threaded server from outside and reports the longest stretch of CPU in which it neither read nor wrote.

    python -m benchmarks.workers.pause PID    # prints a line when it watches, JSON on SIGTERM

An event loop that one callback blocks uses CPU without a read or write; a loop that is merely busy serves requests one after the other and
reads and writes all the time. Twice per millisecond this watcher asks the kernel for the process's counts of read and write calls and for
its CPU clock. A stretch is therefore known to about half a millisecond, however the watcher itself is scheduled.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from ..machine import cpu_clock
from .bystander import first_in_line

PERIOD = 0.0004
PROMPT_NS = 1_500_000
"""The longest time between two samples for which the CPU between them counts as part of the stretch without reads and writes."""


class Watch:
    """Samples the CPU and the read and write calls of one process."""

    def __init__(self, pid: int) -> None:
        self.clock = cpu_clock(pid)
        self.file = os.open(Path(f"/proc/{pid}/io"), os.O_RDONLY)
        self.longest = 0
        self.samples = 0
        self.calls, self.anchor = self.read(), time.clock_gettime_ns(self.clock)
        self.wall = time.monotonic_ns()

    def read(self) -> int:
        """Return the number of read and write calls that the process has made so far."""
        lines = os.pread(self.file, 512, 0).split()
        return int(lines[5]) + int(lines[7])

    def sample(self) -> None:
        """Take one sample of the CPU and the calls of the process. A call ends the stretch; the CPU of the last half millisecond still
        counts as part of it."""
        calls, cpu, wall = self.read(), time.clock_gettime_ns(self.clock), time.monotonic_ns()
        if calls == self.calls:
            self.longest = max(self.longest, cpu - self.anchor)
        else:
            if wall - self.wall < PROMPT_NS:
                self.longest = max(self.longest, cpu - self.anchor)
            self.calls, self.anchor = calls, cpu
        self.wall = wall
        self.samples += 1


def main() -> None:
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stopping.append(number))
    first_in_line()
    watch = Watch(int(sys.argv[1]))
    print("ready", flush=True)
    while not stopping:
        watch.sample()
        time.sleep(PERIOD)
    print(json.dumps({"longest_ms": watch.longest / 1e6, "samples": watch.samples}), flush=True)


if __name__ == "__main__":
    main()
