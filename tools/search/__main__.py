"""`make search`: fresh seeds of properties and of the simulation, soaks, exchanges on real Kafka, planted mistakes, late threads.

    python -m tools.search                              every part, an hour of drawing in all (the scout of `late` comes on top)
    python -m tools.search --seconds 600 policies kafka these parts, ten minutes
    python -m tools.search --seed 7 properties -- -k lease      the same again, narrowed down; words behind -- are pytest's
    python -m tools.search late --place groupmock.net.driver:Driver.submit

The report is build/search/report.txt (and .json). Exit code 0 as soon as there is one: a search reports, what it wrote under tests/found
decides. 2: bad use; 3: no part could run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import Final

from tools.runs import ROOT

from . import fuzz, kafka, late, mutants, occasions, planted, report, simulation, suite, verdicts
from .report import SearchPart
from .suite import FOUND, SearchRequest

SHARES: Final = {
    "properties": 0.2, "policies": 0.1, "soaks": 0.1, "simulation": 0.15, "occasions": 0.05, "fuzz-codec": 0.05,
    "fuzz-driver": 0.05, "kafka": 0.1, "mutations": 0.1, "late": 0.1, "verdicts": 0.0, "planted": 0.0,
}  # fmt: skip
"""Maps a part of the search to its share of the time. A part without a share runs only if it is named, and then gets as much as all
other named parts."""
FOLDER: Final = ROOT / "build/search"


def main(words: Sequence[str] | None = None) -> int:
    asked = _options(words)
    unknown = set(asked.parts) - set(SHARES)
    if unknown:
        print(f"no part is called {', '.join(sorted(unknown))}: {' '.join(SHARES)}", file=sys.stderr)
        return 2
    parts = {name: share or 1.0 for name, share in SHARES.items() if (name in asked.parts if asked.parts else share)}
    done: list[SearchPart] = []
    about = {"seed": asked.seed, "commit": _commit(), "began": time.strftime("%Y-%m-%d %H:%M:%S")}
    written = ""
    for name, share in parts.items():
        wanted = SearchRequest(
            asked.seconds * share / sum(parts.values()), asked.seed, asked.folder, asked.workers, asked.finds.resolve(), tuple(asked.pytest)
        )
        begun = time.monotonic()
        print(f"... {name} ({wanted.seconds:.0f} s)", flush=True)
        part = _how(name, asked.place)(wanted)
        part.seconds = time.monotonic() - begun
        done.append(part)
        # The report is written after each part of the search, so that an interrupted search has one.
        written = report.write(asked.folder, done, about)
    print(written, end="")
    return 3 if all(part.verdict == report.FAILED for part in done) else 0


def _how(name: str, places: Sequence[str]) -> Callable[[SearchRequest], SearchPart]:
    if name in suite.MARKS:
        return partial(suite.search, name)
    if name in fuzz.PARTS:
        return partial(fuzz.search, name)
    if name == "late":
        return partial(late.search, places=places)
    others = {
        "kafka": kafka.search, "mutations": mutants.search, "occasions": occasions.search, "planted": planted.search,
        "simulation": simulation.search, "verdicts": verdicts.search,
    }  # fmt: skip
    return others[name]


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.search", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"these only: {' '.join(SHARES)}")
    parser.add_argument("--seconds", type=float, default=3600, help="all parts together (default 3600)")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(2**31), help="what every draw depends on (default: fresh)")
    parser.add_argument("--workers", type=int, default=2, help="pytest workers (default 2)")
    parser.add_argument("--finds", type=Path, default=FOUND, help="where finds are written (default tests/found)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the report is written (default build/search)")
    parser.add_argument("--place", action="append", default=[], metavar="MODULE:QUALNAME", help="late here instead of at drawn places")
    given = list(sys.argv[1:] if words is None else words)
    at = given.index("--") if "--" in given else len(given)
    asked = parser.parse_args(given[:at])
    asked.pytest = given[at + 1 :]
    if asked.seconds <= 0:
        parser.error("--seconds is above 0")
    asked.folder = asked.folder.resolve()
    return asked


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "none"


if __name__ == "__main__":
    sys.exit(main())
