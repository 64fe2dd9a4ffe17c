"""Measure how fast the core plays exchanges: make scripts first, then play them in several processes and compare the results with an
earlier play."""

from __future__ import annotations

import gc
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import Barrier
from multiprocessing.synchronize import Barrier as BarrierType

import msgspec

from ..families import family
from ..guided.core_player import play, replay
from .canonical import compare


class Speed(msgspec.Struct):
    """The exchanges per second of all processes together: for making scripts (which includes playing them), and for playing and
    comparing."""

    processes: int
    exchanges: int
    made: float
    compared: float
    differences: int


_together: list[BarrierType] = []


def measure(name: str, release: str, seeds: tuple[int, int], processes: int) -> Speed:
    """Distribute the seeds among processes and return the speed, for which the slowest process counts."""
    processes = min(processes, seeds[1] - seeds[0])
    barrier = Barrier(processes)
    with ProcessPoolExecutor(processes, initializer=_together.append, initargs=(barrier,)) as pool:
        parts = [range(seeds[0] + number, seeds[1], processes) for number in range(processes)]
        done = list(pool.map(_one, [name] * processes, [release] * processes, parts))
    count = sum(len(part) for part in parts)
    made, compared = max(one[0] for one in done), max(one[1] for one in done)
    return Speed(processes, count, round(count / made, 1), round(count / compared, 1), sum(one[2] for one in done))


def _one(name: str, release: str, seeds: range) -> tuple[float, float, int]:
    generate = family(name)
    generate(seeds[0], release)
    _together[0].wait()
    begun = time.perf_counter()
    scripts = [generate(seed, release) for seed in seeds]
    made = time.perf_counter() - begun
    first = [play(script) for script in scripts]
    gc.freeze()  # The scripts are exempted from garbage collection, so that they do not slow the measured plays.
    _together[0].wait()
    begun = time.perf_counter()
    differing = sum(bool(compare(script, one, replay(script, one))) for script, one in zip(scripts, first, strict=True))
    return made, time.perf_counter() - begun, differing
