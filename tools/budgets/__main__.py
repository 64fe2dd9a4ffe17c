"""`python -m tools.budgets [--size N] [--most N] [--profile NAME] [API ...]` prints milliseconds and MB of every request that multiplies
work.

Each request is sent to a fork of a cluster with `size` groups, members and partitions. The most expensive come first.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import signal
import tracemalloc
from collections.abc import Iterator
from typing import Any

from groupmock.rig.wire import request

from .meter import MOST_BYTES, MOST_MS, timed
from .requests import Case, cases
from .state import BigState

PATIENCE_S = 6
MOST_MB = MOST_BYTES >> 20
ROOM = 4 << 30


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.budgets", description=__doc__)
    parser.add_argument("apis", nargs="*", type=int, help="API keys; none: all that are served")
    parser.add_argument("--size", type=int, default=11_000)
    parser.add_argument("--most", type=int, default=40_000)
    parser.add_argument("--profile", default=None)
    parser.add_argument("--above", type=float, default=5.0, help="show what takes longer, ms")
    parser.add_argument("--memory", action="store_true", help="peaks too: three times as long")
    parser.add_argument("--match", default="")
    asked = parser.parse_args()
    state = BigState(asked.size, asked.profile)
    gc.collect()
    gc.freeze()  # The existing objects are exempted from garbage collection, because a collection in a child would copy all memory pages.
    rows: list[dict[str, Any]] = []
    for case in _all(state, asked.apis, asked.most):
        if asked.match not in str(case):
            continue
        row = measured(state, case, asked.memory)
        if row["ms"] > MOST_MS or row["end"] == "DEFECT":
            print(f"so far {row['ms']:9.1f} ms {row['end']} {row['case']}", flush=True)
        rows.append(row)
    rows.sort(key=lambda row: -row["ms"])
    slow, large = sum(row["ms"] > MOST_MS for row in rows), sum(row["mb"] > MOST_MB for row in rows)
    print(f"{len(rows)} requests; {slow} take more than {MOST_MS} ms, {large} more than {MOST_MB} MB")
    for row in rows:
        if row["ms"] > asked.above or row["mb"] > MOST_MB or row["end"] == "DEFECT":
            print(f"{row['ms']:9.1f} ms {row['mb']:7.1f} MB {row['frame']:9} -> {row['answer']:9} B  {row['end']:9} {row['case']}")


def _all(state: BigState, keys: list[int], most: int) -> Iterator[Case]:
    for row in state.rig.core.environment.identity.advertised:
        if not keys or row.key in keys:
            for version in dict.fromkeys((row.lowest, row.highest)):
                yield from cases(state, row.key, version, most)


def measured(state: BigState, case: Case, memory: bool) -> dict[str, Any]:
    """Measure a request in a child process, so that the next request finds the same cluster, and a request that never ends can be
    killed."""
    row = _in_child(lambda: _cost(state, case, memory=False))
    if memory and row["end"] != "killed":
        row["mb"] = _in_child(lambda: _cost(state, case, memory=True))["mb"]
    return {"case": str(case), **row}


def _cost(state: BigState, case: Case, memory: bool) -> dict[str, Any]:
    frame = request(case.key, case.version, case.message)
    wire = state.rig.connect()
    refused = state.rig.driver.counters.refused
    if memory:
        tracemalloc.start()
    ms = timed(lambda: wire.send(frame))
    mb = tracemalloc.get_traced_memory()[1] / 1e6 if memory else 0.0
    return {"ms": ms, "mb": mb, "frame": len(frame), "answer": len(wire.data), "end": _end(state, refused, bool(wire.data))}


def _end(state: BigState, refused: int, answered: bool) -> str:
    counters = state.rig.driver.counters
    if counters.internal_errors:
        return "DEFECT"
    return "refused" if counters.refused > refused else "done" if answered else "silent"


def _in_child(work: Any) -> dict[str, Any]:
    here, there = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(PATIENCE_S)
        resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
        found = {"ms": 0.0, "mb": 9999.0, "frame": 0, "answer": 0, "end": "memory"}
        try:
            found = work()
        except MemoryError:
            pass
        os.write(there, json.dumps(found).encode())
        os._exit(0)
    os.close(there)
    data = b""
    while part := os.read(here, 1 << 16):
        data += part
    os.close(here)
    os.waitpid(child, 0)
    return json.loads(data) if data else {"ms": PATIENCE_S * 1000.0, "mb": 9999.0, "frame": 0, "answer": 0, "end": "killed"}


if __name__ == "__main__":
    main()
