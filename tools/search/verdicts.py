"""Check that `make test` gives the same verdict for the same tree under other hash seeds, numbers of workers, orders, and load.

It takes fifteen runs of at least four minutes, so it runs only if it is named: `make search SEARCH=verdicts SECONDS=6000`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Final, NamedTuple

from tools.runs import TESTS_RAN

from .report import SearchPart
from .suite import PytestRun, SearchRequest, run

RUNS: Final = 15
LIMIT_S: Final = 3600
SPIN: Final = "while True: pass"


class RunVariant(NamedTuple):
    """The conditions under which one run of the tests is repeated. `order` 0 is the order of the files. `loaded` adds a busy loop per
    core."""

    workers: int
    hash_seed: int
    order: int
    loaded: bool

    def __str__(self) -> str:
        order = f"random order {self.order}" if self.order else "order of files"
        return f"-n {self.workers}, hash seed {self.hash_seed}, {order}{', a busy loop per core' * self.loaded}"

    def words(self) -> list[str]:
        """Return the options with which pytest (and pytest-random-order) runs under these conditions."""
        return ["--random-order", f"--random-order-seed={self.order}"] if self.order else []


def turns(seed: int) -> Iterator[RunVariant]:
    """Yield ten runs without load and five with, mixed, so that a search that ends early has seen both. Every number of workers comes
    early."""
    dice = Random(seed)
    for number in range(RUNS):
        order = dice.randrange(1, 2**16) if number % 2 else 0
        yield RunVariant(workers=1 + (number + 1) % 4, hash_seed=dice.randrange(2**32), order=order, loaded=number % 3 == 2)


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Run processes within the block that use all the processor time they get."""
    spinning = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(loops)]
    try:
        yield
    finally:
        for each in spinning:
            each.kill()
            each.wait()


def search(wanted: SearchRequest) -> SearchPart:
    """Run the tests under as many different conditions as the time allows."""
    part, seen = SearchPart("verdicts"), []
    end = time.monotonic() + wanted.seconds
    for turn in turns(wanted.seed):
        begun = time.monotonic()
        with busy((os.cpu_count() or 1) * turn.loaded):
            done = run(turn.words(), replace(wanted, workers=turn.workers), LIMIT_S, {"PYTHONHASHSEED": str(turn.hash_seed)})
        took = time.monotonic() - begun
        if done.code not in TESTS_RAN:
            return part.failed(f"{turn}\n{done.output}")
        seen.append(done)
        counted = Counter(done.verdicts.values())
        part.did.append(f"{turn}: {', '.join(f'{count} {verdict}' for verdict, count in sorted(counted.items()))}, {took:.0f} s")
        part.reds += [f"{turn}: {test}: {said}" for test, said in done.failed.items()]
        print(f"    {part.did[-1]}", flush=True)  # The line is printed at once, because the next run takes minutes.
        if time.monotonic() + took / 2 > end:
            break
    part.reds += _unequal(seen)
    return part


def _unequal(seen: Sequence[PytestRun]) -> Iterator[str]:
    """Yield the tests whose outcome or presence differed between runs."""
    for test in sorted({test for done in seen for test in done.verdicts}):
        verdicts = {done.verdicts.get(test, "not run") for done in seen}
        if len(verdicts) > 1:
            yield f"not the same in every run: {test}: {', '.join(sorted(verdicts))}"
