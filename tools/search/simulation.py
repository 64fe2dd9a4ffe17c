"""Play fresh seeds of the simulation, each in a child process with limits. Finds are shrunk and written under tests/found.

    python -m tools.search.simulation --first 1000 --stride 2 --seconds 60 --finds build/finds     one worker, as the part starts several
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from groupmock.version import __version__
from groupmock_clients.simulation.find import as_find, made_small, write
from groupmock_clients.simulation.limited import DIED, HUNG, SeedVerdict, within_limits
from groupmock_clients.simulation.plan import EVERY_KIND, OWN_KINDS
from groupmock_clients.simulation.simulate import play
from tools.records import RECORDS, save
from tools.runs import ended

from .report import SearchPart
from .suite import SearchRequest

NAME: Final = "simulation"
STRETCH: Final = 100
"""The number of simulated seeds per child process."""
SHRINKS: Final = 5
"""The number of findings per judge of the simulation that are shrunk. Others only become lines of the report."""
TRIES: Final = 150
RECORD: Final = RECORDS / "simulation.json"
"""The file with measurements and with the planted mistakes that were found (planted.py), from which docs/proof/simulation.md is made."""
GRACE_S: Final = 300


def search(wanted: SearchRequest) -> SearchPart:
    """Run the requested number of workers, each with its own seeds."""
    part = SearchPart(NAME)
    first = wanted.seed * 10_000_019 % 2**40
    words = ["--stride", str(wanted.workers), "--seconds", f"{wanted.seconds:.0f}", "--finds", str(wanted.finds)]
    commands = [[sys.executable, "-m", "tools.search.simulation", "--first", str(first + place), *words] for place in range(wanted.workers)]
    with ThreadPoolExecutor(wanted.workers) as pool:
        for done in pool.map(lambda command: ended(command, wanted.seconds + GRACE_S), commands):
            told = [line for line in done.output.splitlines() if line.startswith("{")]
            if done.code != 0 or not told:
                return part.failed(done.output)
            summary = json.loads(told[-1])
            part.did.append(summary["did"])
            part.finds += summary["files"]
            part.reds += summary["reds"]
    return part


def seeds_of(first: int, stride: int, kind: str | None, seconds: float) -> Iterator[SeedVerdict]:
    """Yield verdicts on simulated seeds until the time is over. Without a `kind` the same seeds are played as what they draw, and as
    each of OWN_KINDS."""
    end, seed = time.monotonic() + seconds, first
    kinds = (None, *OWN_KINDS) if kind is None else (kind,)
    while time.monotonic() < end:
        stretch = range(seed, seed + STRETCH * stride, stride)
        for each in kinds:
            for verdict in within_limits(stretch, each):
                yield verdict
                if time.monotonic() >= end:
                    return
        seed = stretch.stop


def _file(verdict: SeedVerdict, folder: Path) -> str | None:
    """Shrink a failing simulated run and write it to a file. Returns None for a seed that hung or died, because it is not played again
    here."""
    if verdict.plan is None or verdict.judge in (HUNG, DIED):
        return None
    outcome = play(verdict.plan, thorough=True)
    if outcome.finding is None:
        return None
    about = {"date": time.strftime("%Y-%m-%d"), "version": __version__}
    return write(folder, as_find(made_small(outcome, TRIES), about)).name


def _record(measured: dict[str, Any], kind: str | None) -> None:
    kept = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    new = {"measured": measured} if kind is None else {"measured_kinds": {**kept.get("measured_kinds", {}), kind: measured}}
    save(RECORD, {**kept, **new})


def main(words: Sequence[str] | None = None) -> int:
    """Run one worker of the search. Its last line is a JSON object: `did`, `files`, `reds`, `seeds`, `first` (the first find or None)."""
    parser = argparse.ArgumentParser(prog="python -m tools.search.simulation", description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--first", type=int, required=True, help="the first seed")
    parser.add_argument("--stride", type=int, default=1, help="every so manyth one")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seeds", type=int, help="so many at most")
    parser.add_argument("--kind", choices=EVERY_KIND, help="of simulation (default: those that seeds draw and each of the others, in turn)")
    parser.add_argument("--finds", type=Path, required=True, help="where finds are written")
    parser.add_argument("--record", action="store_true", help="write what it cost to tools/records/simulation.json")
    parser.add_argument("--until-found", action="store_true", help="end with the first find")
    asked = parser.parse_args(words)
    first: dict[str, Any] | None = None
    began, kinds, judges, files, reds = time.monotonic(), Counter[str](), Counter[str](), list[str](), list[str]()
    count = requests = 0
    for verdict in seeds_of(asked.first, asked.stride, asked.kind, asked.seconds):
        count, requests = count + 1, requests + verdict.requests
        kinds[verdict.kind] += 1
        if verdict.judge is not None:
            judges[verdict.judge] += 1
            after = time.monotonic() - began
            file = _file(verdict, asked.finds) if judges[verdict.judge] <= SHRINKS else None
            files += [file] if file else []
            if first is None:
                first = {"seed": verdict.seed, "judge": verdict.judge, "text": verdict.text, "after": after}
            reds.append(f"seed {verdict.seed}: {verdict.judge}: {verdict.text}{f' ({file})' if file else ''}")
            if asked.until_found:
                break
        if count == asked.seeds:
            break
    of_kinds = " ".join(f"{kind} {number}" for kind, number in sorted(kinds.items()))
    did = f"{count} seeds from {asked.first} on, every {asked.stride}., {requests} requests, {asked.seconds:.0f} s: {of_kinds}"
    told: dict[str, Any] = {"did": did, "files": sorted(set(files)), "reds": reds, "seeds": count, "first": first}
    if asked.record:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cost = {"seeds": count, "requests": requests, "core_seconds": round(used.ru_utime + used.ru_stime, 1)}
        _record({**cost, "first": asked.first, "found": len(reds)}, asked.kind)
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
