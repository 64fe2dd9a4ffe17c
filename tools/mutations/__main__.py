"""`make mutations` checks that our tests can fail: it plants small mistakes in a copy of the sources, one at a time, and runs the tests.

    python -m tools.mutations                     every mutation of tests/mutations/mutations.toml; writes its record and page
    python -m tools.mutations NAME ...            these only; writes nothing
    python -m tools.mutations --sample 8          so many, chosen by the day (or --seed); writes nothing
    python -m tools.mutations --unit core net     these folders of tests/unit for every mutation; writes no page
    python -m tools.mutations --matrix FILE       a line of JSON per mutation: judge -> what it breaks, whole (which test kills what)

Exit code 1: a mutation survived the golden corpus and nothing explains it, no exchange names it by a row it should be named by, or no
unit test notices what the other judges cannot see.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools.pages.all_pages import written
from tools.records import RECORDS, save

from .judging import as_data, complaints, run, snapshot
from .planted import FOLDERS, Mutation, Stale, check, load


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the judges on the mutations that were asked for. Returns 0 if all were noticed as expected."""
    options = _options(arguments)
    mutations = load()
    chosen = _chosen(mutations, options)
    began = time.monotonic()
    with snapshot() as base:
        for mutation in mutations:  # All mutations are checked, because a run of a sample should also report outdated ones.
            check(mutation, base)
        results = run(chosen, options.judge or list(FOLDERS), base, unit=options.unit)
    seconds = time.monotonic() - began
    wrong = sum(bool(list(complaints(*result))) for result in results)
    print(f"{len(results)} mutations in {seconds:.0f} s, {wrong} not as they should be")
    if options.matrix:
        lines = [json.dumps({mutation.name: {name: each.rows for name, each in verdicts.items()}}) for mutation, verdicts in results]
        options.matrix.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if len(chosen) == len(mutations) and not options.judge and not options.unit:
        save(RECORDS / "mutations.json", as_data(results, seconds))
        written("mutations")
    return 1 if wrong else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutations", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutations to judge; all when none is named")
    parser.add_argument("--sample", type=int, metavar="N", help="so many, chosen at random")
    parser.add_argument("--seed", type=int, default=datetime.date.today().toordinal(), help="what the choice depends on: the day")
    parser.add_argument("--judge", action="append", choices=list(FOLDERS), help="this judge only (may be repeated)")
    parser.add_argument("--unit", nargs="+", default=(), metavar="FOLDER", help="these folders of tests/unit, not the part's own")
    parser.add_argument("--matrix", type=Path, metavar="FILE", help="write down what each judge found broken, whole")
    return parser.parse_args(arguments)


def _chosen(mutations: list[Mutation], options: argparse.Namespace) -> list[Mutation]:
    unknown = set(options.names) - {each.name for each in mutations}
    if unknown:
        raise SystemExit(f"no mutation of that name: {', '.join(sorted(unknown))}")
    if options.names:
        return [each for each in mutations if each.name in options.names]
    if options.sample:
        print(f"{options.sample} of {len(mutations)} mutations, seed {options.seed}")
        return random.Random(options.seed).sample(mutations, options.sample)
    return mutations


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Stale, RuntimeError) as problem:
        sys.exit(f"mutations: {problem}")
