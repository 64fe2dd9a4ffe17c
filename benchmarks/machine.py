"""The machine under the measurements: which core is whose, whose CPU time was used, and whether others were busy."""

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
"""Share of one core that others may use while a figure is taken; above it the run is repeated."""
ATTEMPTS = 4
PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = os.sysconf("SC_CLK_TCK")

T = TypeVar("T")


@dataclass(frozen=True)
class Cores:
    """One core for the server under test, another for whoever loads it (the same one on a machine that has no second)."""

    server: int
    load: int

    @classmethod
    def available(cls) -> Cores:
        """The first two cores this process may run on."""
        mine = sorted(os.sched_getaffinity(0))
        return cls(mine[0], mine[1] if len(mine) > 1 else mine[0])

    @property
    def shared(self) -> bool:
        """True where server and load fight for one core: the figures are then no ratios of anything."""
        return self.server == self.load


@contextmanager
def pinned(core: int) -> Iterator[None]:
    """What is started inside runs on that core from its exec on; this process returns to where it was."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cpu_clock(pid: int) -> int:
    """The clock of a process's CPU time, for `time.clock_gettime`: what clock_getcpuclockid(3) makes of a pid on Linux."""
    return (~pid << 3) | 2


def cpu_seconds(pid: int) -> float:
    """CPU seconds a process has used, all threads, exact to the nanosecond. Raises OSError when there is no such process."""
    return time.clock_gettime(cpu_clock(pid))


def resident_bytes(pid: int) -> int:
    """Resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


def _busy_seconds() -> float:
    """CPU seconds all processes of this machine have used since it started (idle, iowait and steal left out)."""
    fields = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _idle, _iowait, irq, softirq = fields[:7]
    return (user + nice + system + irq + softirq) / TICK


def _own_seconds() -> float:
    """CPU seconds of this process and of the children it has waited for."""
    used = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


@dataclass
class Foreign:
    """CPU that others used, as a share of one core.

    Exact for work whose processes have ended and were waited for when `share` is asked; `others` names processes of
    ours that this one did not start itself (a broker in a session of its own).
    """

    others: Sequence[int] = ()
    _start: tuple[float, float, float] = field(default=(0.0, 0.0, 0.0), init=False)

    def __post_init__(self) -> None:
        self._start = self._now()

    def _now(self) -> tuple[float, float, float]:
        ours = _own_seconds() + sum(cpu_seconds(pid) for pid in self.others)
        return time.monotonic(), _busy_seconds(), ours

    def share(self) -> float:
        """Foreign CPU since this was made; a tick's rounding may leave it a little off, never below 0."""
        now = self._now()
        wall, busy, ours = (after - before for after, before in zip(now, self._start, strict=True))
        return max(0.0, (busy - ours) / wall) if wall else 0.0


@dataclass
class Quiet:
    """Takes a figure when the machine is quiet, and again when it was not; keeps the quietest attempt.

    `patience` is how long one attempt may wait for quiet, in seconds; 0 takes what comes, once.
    """

    patience: float = 20.0
    shares: list[float] = field(default_factory=list)

    def take(self, run: Callable[[], T]) -> T:
        """The result of the quietest of at most four attempts; its foreign share is kept in `shares`."""
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
    """What a reader of the figures needs to know about this machine."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    python = f"{platform.python_version()} ({platform.python_compiler()})"
    return {"cpu": cpu, "cores": str(len(os.sched_getaffinity(0))), "kernel": platform.release(), "python": python}


def held_mb(pid: int) -> float:
    """What a process and all below it hold now, MB; pages that they share count once (PSS)."""
    total, left = 0, [pid]
    while left:
        one = Path(f"/proc/{left.pop()}")
        try:
            left += [int(word) for task in (one / "task").iterdir() for word in (task / "children").read_text().split()]
            pages = next(line for line in (one / "smaps_rollup").read_text().splitlines() if line.startswith("Pss:"))
        except (OSError, StopIteration):
            continue  # it has just ended
        total += int(pages.split()[1])
    return total * 1024 / 1e6
