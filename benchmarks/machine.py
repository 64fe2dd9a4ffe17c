"""Describes the machine under the measurements: it assigns the cores, reads CPU time, and notices other busy processes."""

from __future__ import annotations

import os
import platform
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

FOREIGN_LIMIT = 0.12
"""The share of one core that other processes may use while a figure is measured; a run above it is repeated."""
ATTEMPTS = 4
PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = os.sysconf("SC_CLK_TCK")

T = TypeVar("T")


@dataclass(frozen=True)
class Cores:
    """One core for the server under test and another for its load. On a machine with a single core they are the same."""

    server: int
    load: int

    @classmethod
    def available(cls) -> Cores:
        """Take the first two cores this process may run on."""
        mine = sorted(os.sched_getaffinity(0))
        return cls(mine[0], mine[1] if len(mine) > 1 else mine[0])

    @property
    def shared(self) -> bool:
        """True where server and load compete for one core, which makes the figures meaningless."""
        return self.server == self.load


@contextmanager
def pinned(core: int) -> Iterator[None]:
    """Pin every process that starts inside the block to that core. Afterwards this process has its former cores again."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cpu_clock(pid: int) -> int:
    """Return the id of the clock that counts a process's CPU time, for `time.clock_gettime`, as clock_getcpuclockid(3) computes the id
    on Linux."""
    return (~pid << 3) | 2


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of all threads of a process, exact to the nanosecond. Raises OSError if there is no such process."""
    return time.clock_gettime(cpu_clock(pid))


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


def _busy_seconds() -> float:
    """Return the CPU seconds of all processes since the machine started (without idle, iowait and steal)."""
    fields = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _idle, _iowait, irq, softirq = fields[:7]
    return (user + nice + system + irq + softirq) / TICK


def _own_seconds() -> float:
    """Return the CPU seconds of this process and of the children that it has waited for."""
    used = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


@dataclass
class Foreign:
    """The CPU that other processes used, as a share of one core.

    The share is exact if all work has ended and was waited for when `share` is called. `others` names processes of ours that this one did
    not start itself (a broker in a session of its own).
    """

    others: Sequence[int] = ()
    _start: tuple[float, float, float] = field(default=(0.0, 0.0, 0.0), init=False)

    def __post_init__(self) -> None:
        self._start = self._now()

    def _now(self) -> tuple[float, float, float]:
        ours = _own_seconds() + sum(cpu_seconds(pid) for pid in self.others)
        return time.monotonic(), _busy_seconds(), ours

    def share(self) -> float:
        """Return the foreign CPU since this object was made. Rounding to ticks may make it slightly wrong, but never negative."""
        now = self._now()
        wall, busy, ours = (after - before for after, before in zip(now, self._start, strict=True))
        return max(0.0, (busy - ours) / wall) if wall else 0.0


@dataclass
class Quiet:
    """Measures while the machine is quiet, repeats a measurement that was disturbed, and keeps the quietest attempt.

    `patience` is the number of seconds that one attempt may wait for quiet. With 0 it measures once, whatever happens.
    """

    patience: float = 20.0
    shares: list[float] = field(default_factory=list)

    def take(self, run: Callable[[], T]) -> T:
        """Return the result of the quietest of at most four attempts, and keep its foreign share in `shares`."""
        best, least = self._attempt(run)
        for _ in range(ATTEMPTS - 1 if self.patience else 0):
            if least <= FOREIGN_LIMIT:
                break
            result, share = self._attempt(run)
            if share < least:
                best, least = result, share
        self.shares.append(least)
        return best

    def _attempt(self, run: Callable[[], T]) -> tuple[T, float]:
        self._wait()
        watch = Foreign()
        result = run()
        return result, watch.share()

    def _wait(self) -> None:
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            watch = Foreign()
            time.sleep(0.25)
            if watch.share() <= FOREIGN_LIMIT:
                return


def description() -> dict[str, str]:
    """Return the facts about this machine that a reader of the figures needs."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    python = f"{platform.python_version()} ({platform.python_compiler()})"
    return {"cpu": cpu, "cores": str(len(os.sched_getaffinity(0))), "kernel": platform.release(), "python": python}


def held_mb(pid: int) -> float:
    """Return the MB that a process and all its descendants hold now. Shared pages count once (PSS)."""
    total, left = 0, [pid]
    while left:
        one = Path(f"/proc/{left.pop()}")
        try:
            left += [int(word) for task in (one / "task").iterdir() for word in (task / "children").read_text().split()]
            pages = next(line for line in (one / "smaps_rollup").read_text().splitlines() if line.startswith("Pss:"))
        except (OSError, StopIteration):
            continue  # The process has ended while its memory was read.
        total += int(pages.split()[1])
    return total * 1024 / 1e6
