"""Compares the CPU of two builds' drivers for one kind of work: `python hot_path.py KIND BUILD OTHER PAIRS [AUDITED]`.

KIND is one of: lease (equal heartbeats, repeated), full (the same with repeating off), rounds (JoinGroup and SyncGroup of one member),
storm (members that join together: two JoinGroups and a SyncGroup each, on connections of their own, until their sessions end), produce (a
batch of one record), fetch (the newest batch, read_committed).
AUDITED is one or other: the build whose clients are audited (`serve --audit`).
BUILD and OTHER are folders with `broker` and `codec`. Both builds live in this process and take turns of about a millisecond, in quartets
(BUILD, OTHER, OTHER, BUILD), so that a disturbance of the host slows both. It prints the median of the quartets. The build that is loaded
second runs up to a twentieth slower for that reason alone, so measure in both orders.
"""

from __future__ import annotations

import gc
import importlib.util
import statistics
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any, Final

COUNTS: Final = {"lease": 2_000, "full": 200, "rounds": 20, "storm": 30, "produce": 30, "fetch": 30}
"""The amount of work in one turn, by kind of work."""
STORM_DELAY_MS: Final = 3000
"""The initial rebalance delay in which all members of a storm can join."""
WARM: Final = 20  # Turns before the measurement let CPython specialise the code.
COLLECT_EVERY: Final = 50  # Garbage is collected after this many groups of four runs, and the time counts for no build.
WORK: Final = Path(__file__).with_name("hot_work.py")


class Build:
    """The modules of one build of groupmock, and the work of its driver. Only one build's modules are in sys.modules at a time, because
    the work imports too."""

    def __init__(self, sources: str, kind: str, audited: bool = False) -> None:
        self.modules = taken_out()
        sys.path[:0] = [f"{sources}/broker", f"{sources}/codec"]
        spec = importlib.util.spec_from_file_location("hot_work", WORK)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.work: Any = module.Work(STORM_DELAY_MS if kind == "storm" else 0, audited)
        del sys.path[:2]
        self.kind = kind
        if kind == "full":
            self.work.driver.use_leases(False)
        found = str(sys.modules["groupmock"].__file__)
        if not found.startswith(sources):
            raise SystemExit(f"{found} is not the build in {sources}")
        self.modules = taken_out()

    def turn(self) -> int:
        """Return the CPU nanoseconds that one turn of the work takes. Ends the process if the work did not match its kind."""
        sys.modules.update(self.modules)
        count, driver = COUNTS[self.kind], self.work.driver
        kinds = {"rounds": self.work.rounds, "storm": self.work.storm, "produce": self.work.produce, "fetch": self.work.fetch}
        work = kinds.get(self.kind, self.work.heartbeats)
        handled, repeated = driver.counters.handled, driver.counters.repeated_heartbeats
        begun = time.process_time_ns()
        work(count)
        used = time.process_time_ns() - begun
        self.modules = taken_out()
        handled, repeated = driver.counters.handled - handled, driver.counters.repeated_heartbeats - repeated
        expected = {"lease": 0, "full": count, "rounds": 2 * count + 1, "storm": 3 * count}.get(self.kind, count)
        if not expected <= handled - repeated <= expected + 1 or driver.counters.internal_errors:
            raise SystemExit(f"{self.kind}: {handled} requests were handled, {repeated} of them repeated: {driver.counters}")
        return used


def taken_out() -> dict[str, ModuleType]:
    """Remove groupmock's modules from sys.modules and return them, so that another build can be imported."""
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] in ("groupmock", "groupmock_codec")}


def main(kind: str, one: str, other: str, pairs: str, audited: str = "") -> None:
    """Print BUILD's CPU time as a share of OTHER's."""
    # The import finders of editable installations are removed, because they would find the working tree instead of the builds.
    sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
    if audited not in ("", "one", "other"):
        raise SystemExit(f"{audited!r}: one, other or nothing")
    builds = Build(one, kind, audited == "one"), Build(other, kind, audited == "other")
    for _ in range(WARM):
        for build in builds:
            build.turn()
    gc.freeze()
    gc.disable()
    shares: list[float] = []
    for number in range(int(pairs)):
        if number % COLLECT_EVERY == 0:
            gc.collect()
        first, second, third, fourth = (builds[which].turn() for which in (0, 1, 1, 0))
        shares.append((first + fourth) / (second + third))
    print(statistics.median(shares))


main(*sys.argv[1:])
