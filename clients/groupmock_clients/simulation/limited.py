"""Play seeds in a child process with limits of time and memory, so that one that hangs or dies does not stop the others.

POSIX only: the child is a fork, so that a seed does not pay for an interpreter that starts.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from math import ceil
from pathlib import Path
from typing import Final

import msgspec

from .plan import SimulationPlan
from .simulate import Outcome, simulate

SECONDS: Final = 20.0
"""The limit of processor time for one seed, in seconds. A seed takes some 40 ms, one whose calls are counted three times that."""
IDLE: Final = 10.0
"""The limit of wall time as a multiple of SECONDS, because a busy machine is slow, and a child that sleeps uses no processor."""
MEGABYTES: Final = 512
"""The limit of a child process's memory beyond what it has at its start."""
HUNG: Final = "hung"
DIED: Final = "died"
STATM: Final = Path("/proc/self/statm")


class SeedVerdict(msgspec.Struct, kw_only=True):
    """The verdict on the run of one seed. `judge` and `text` are those of a finding, None where all held; HUNG and DIED are judges too.
    `seconds` is wall time; the rest as in `Outcome`."""

    seed: int
    kind: str = ""
    judge: str | None = None
    text: str | None = None
    step: int | None = None
    seconds: float = 0.0
    digest: str = ""
    rows: int = 0
    requests: int = 0
    virtual_ms: float = 0.0
    replayed: bool = False
    plan: SimulationPlan | None = None
    """The plan of the run, for a seed that has a finding."""
    story: list[str] = []


def verdict_of(outcome: Outcome, seconds: float) -> SeedVerdict:
    """Summarize an outcome as a verdict."""
    verdict = SeedVerdict(
        seed=outcome.plan.seed, kind=outcome.plan.kind, seconds=seconds, digest=outcome.digest, rows=outcome.rows,
        requests=outcome.requests, virtual_ms=outcome.virtual_ms, replayed=outcome.replayed,
    )  # fmt: skip
    if (found := outcome.finding) is not None:
        verdict.judge, verdict.text, verdict.step = found.judge, found.text, found.step
        verdict.plan, verdict.story = outcome.plan, outcome.story
    return verdict


def judged(seed: int, kind: str | None) -> SeedVerdict:
    """Play one seed in this process and return its verdict. What the simulation itself raises is a finding too."""
    began = time.monotonic()
    try:
        return verdict_of(simulate(seed, kind), time.monotonic() - began)
    except Exception as problem:
        text = f"{type(problem).__name__}: {problem}"
        return SeedVerdict(seed=seed, kind=kind or "", judge="simulation", text=text, seconds=time.monotonic() - began)


Judge = Callable[[int, str | None], SeedVerdict]


def within_limits(
    seeds: Iterable[int], kind: str | None = None, seconds: float = SECONDS, megabytes: int = MEGABYTES, judge: Judge = judged
) -> Iterator[SeedVerdict]:
    """Yield a verdict for each seed, in order. `seconds`: of processor time for each, and IDLE times that of wall time; `megabytes`:
    beyond what a process has that has done nothing."""
    left = list(seeds)
    while left:
        with _Child(left, kind, seconds, megabytes, judge) as child:
            for seed in list(left):
                began = time.monotonic()
                line = child.line(seconds * IDLE)
                left.remove(seed)
                if line is None:
                    what, text = child.ended(seconds)
                    yield SeedVerdict(seed=seed, kind=kind or "", judge=what, text=text, seconds=time.monotonic() - began)
                    break
                yield msgspec.json.decode(line, type=SeedVerdict, strict=False)


class _Child:
    """A forked process that judges seeds and writes one line for each."""

    def __init__(self, seeds: list[int], kind: str | None, seconds: float, megabytes: int, judge: Judge) -> None:
        self._reading, writing = os.pipe()
        self._buffer = b""
        self._status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            self._work(writing, seeds, kind, seconds, megabytes, judge)
        os.close(writing)

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._reading)
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def line(self, seconds: float) -> bytes | None:
        """Return the child's next line, or None if the child has ended or is silent for `seconds`."""
        end = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            if not select.select([self._reading], [], [], max(0.0, end - time.monotonic()))[0]:
                return None
            data = os.read(self._reading, 1 << 16)
            if not data:
                _, self._status = os.waitpid(self.pid, 0)
                return None
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def ended(self, seconds: float) -> tuple[str, str]:
        """Return as a verdict why the child wrote no line: the judge's name (HUNG or DIED) and a text."""
        code = None if self._status is None else os.waitstatus_to_exitcode(self._status)
        if code is None or code == -signal.SIGXCPU:
            return HUNG, f"no end within {seconds:g} s"
        return DIED, f"the process was ended by signal {-code}" if code < 0 else f"the process ended with {code}"

    @staticmethod
    def _work(writing: int, seeds: list[int], kind: str | None, seconds: float, megabytes: int, judge: Judge) -> None:
        code = 1
        try:
            _limit(resource.RLIMIT_AS, _address_space() + megabytes * 1024 * 1024)
            with os.fdopen(writing, "wb") as out:
                for seed in seeds:
                    _limit(resource.RLIMIT_CPU, ceil(time.process_time() + seconds))
                    out.write(msgspec.json.encode(judge(seed, kind)) + b"\n")
                    out.flush()
            code = 0
        finally:
            os._exit(code)  # The child ends by _exit, which skips the parent's cleanup: it must not run twice.


def _limit(what: int, wanted: int) -> None:
    hard = resource.getrlimit(what)[1]
    resource.setrlimit(what, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _address_space() -> int:
    """Return the bytes of this process's address space, or its peak memory where /proc is missing."""
    if STATM.exists():
        return int(STATM.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
