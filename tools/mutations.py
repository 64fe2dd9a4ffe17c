"""`make mutations`: can our checks fail? Plants small mistakes in a copy of the core, one at a time, and asks the judges.

    python tools/mutations.py                     every mutation of tests/mutations/mutations.toml; writes docs/data and docs/mutations.md
    python tools/mutations.py NAME ...            these only; writes nothing
    python tools/mutations.py --sample 8          so many, chosen by the day (or --seed); writes nothing
    python tools/mutations.py --page              docs/mutations.md from docs/data/mutations.json

Exit code 1: a mutation survived the golden corpus and nothing explains it, or no exchange names it by a row it should be named by.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
LIST: Final = ROOT / "tests/mutations/mutations.toml"
DATA: Final = ROOT / "docs/data/mutations.json"
PAGE: Final = ROOT / "docs/mutations.md"
CORE: Final = "broker/groupmock/core"
SOURCES: Final = ("codec", "broker", "clients")
FOLDERS: Final = {"golden": "tests/golden", "exchanges": "clients/groupmock_clients/probe/exchanges"}
PROCESSES: Final = 2
PATIENCE_S: Final = 180
LONGEST_FIRST: Final = 160
MOST_SURVIVORS: Final = 0.05
"""Of the mutations, this share may survive the golden corpus, each with an explanation (tests/mutations holds the last run to it)."""
NOTICE: Final = "<!-- written by tools/mutations.py (`make mutations`): do not edit -->"
INTRODUCTION: Final = """\
{count} small mistakes, planted one at a time in a copy of the core (`make mutations`; this run took {seconds} s); the list is
`tests/mutations/mutations.toml`. Two judges look at each broken core, and see only what goes over the wire:

- the **golden corpus** (`tests/golden`: the recorded answers of Kafka {release}, replayed) catches {caught} of {count};
- the **exchanges** (what `groupmock probe` asks of any broker) also say *which rule* is broken: {named} of {count} are named by a row
  that they were expected to break."""


class Stale(Exception):
    """The list of mutations does not fit the sources any more."""


@dataclass(frozen=True)
class Mutation:
    """One mistake. `file` is below the core; `rows` are those that may name it; `survives`: why the golden corpus does not see it."""

    name: str
    file: str
    old: str
    new: str
    breaks: str
    rows: tuple[str, ...]
    survives: str = ""


@dataclass(frozen=True)
class Verdict:
    """What one judge says of one mutation. `rows`: row -> broken exchanges of it; `first`: the first difference."""

    caught: bool
    broken: int
    first: str
    rows: dict[str, int]


Verdicts = dict[str, Verdict]
"""Judge -> verdict."""


# -- the list ----------------------------------------------------------------------------------------------------------------------


def load(path: Path = LIST) -> list[Mutation]:
    """The list, in its order."""
    listed = tomllib.loads(path.read_text(encoding="utf-8"))
    return [Mutation(name=name, **{**entry, "rows": tuple(entry["rows"])}) for name, entry in listed.items()]


def plant(mutation: Mutation, root: Path) -> None:
    """Make the mistake in the sources below `root`. Raises Stale unless the old text stands there exactly once."""
    file = root / CORE / mutation.file
    if not file.is_file():
        raise Stale(f"{mutation.name}: there is no {CORE}/{mutation.file}: {LIST.name} must be kept up to date")
    text = file.read_text(encoding="utf-8")
    times = text.count(mutation.old)
    if times != 1:
        raise Stale(
            f"{mutation.name}: its old text stands {times} times in {CORE}/{mutation.file}, not once: {LIST.name} must be kept up to date\n"
            f"{mutation.old.strip(chr(10))}"
        )
    if mutation.new == mutation.old:
        raise Stale(f"{mutation.name}: changes nothing")
    shutil.rmtree(file.parent / "__pycache__", ignore_errors=True)
    file.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")


def check(mutation: Mutation, base: Path = ROOT) -> None:
    """Does the old text stand where the list says? Raises Stale."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / CORE / mutation.file
        copy.parent.mkdir(parents=True)
        if (base / CORE / mutation.file).is_file():
            shutil.copy(base / CORE / mutation.file, copy)
        plant(mutation, Path(folder))


# -- judging -----------------------------------------------------------------------------------------------------------------------


@contextmanager
def snapshot(root: Path = ROOT) -> Iterator[Path]:
    """A copy of the sources and the judges' data, so that nothing moves while a run goes on."""
    with tempfile.TemporaryDirectory(prefix="groupmock-mutations-") as folder:
        for name in (*SOURCES, FOLDERS["golden"]):  # the exchanges are part of the clients
            if (root / name).is_dir():
                shutil.copytree(root / name, Path(folder) / name)
        yield Path(folder)


def judge(base: Path, mutation: Mutation | None, judges: Iterable[str]) -> Verdicts:
    """Every judge's verdict on the sources of `base` with that mistake in them (None: as they are)."""
    with tempfile.TemporaryDirectory(prefix="groupmock-mutant-") as folder:
        mutant = Path(folder)
        shutil.copytree(base / "broker", mutant / "broker")
        if mutation is not None:
            plant(mutation, mutant)
        return {name: _verdict(name, base, mutant / "broker") for name in judges}


def _verdict(name: str, base: Path, broker: Path) -> Verdict:
    path = os.pathsep.join(map(str, (broker, base / "codec", base / "clients")))
    command = [sys.executable, "-P", str(ROOT / "tools/mutation_judge.py"), name, str(base / FOLDERS[name]), str(broker)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, env={**os.environ, "PYTHONPATH": path}
        )
    except subprocess.TimeoutExpired:
        return Verdict(True, 1, f"no end within {PATIENCE_S} s", {})
    if done.returncode:
        raise RuntimeError(f"judge {name} failed:\n{done.stderr}")
    found = json.loads(done.stdout)
    if not found["judged"]:
        raise RuntimeError(f"judge {name} had nothing to judge in {FOLDERS[name]}")
    return Verdict(found["broken"] > 0, found["broken"], found["first"], found["rows"])


def run(
    mutations: Sequence[Mutation], judges: Sequence[str], base: Path, told: Callable[[str], None] = print
) -> list[tuple[Mutation, Verdicts]]:
    """Judge them all, two at a time, a line each. Raises RuntimeError when a judge finds fault with the unchanged core."""
    innocent = [f"{name}: {verdict.first}" for name, verdict in judge(base, None, judges).items() if verdict.caught]
    if innocent:
        raise RuntimeError("the core without any mutation is found guilty, so the judges prove nothing:\n" + "\n".join(innocent))
    results = []
    with ThreadPoolExecutor(PROCESSES) as pool:
        for mutation, verdicts in zip(mutations, pool.map(lambda each: judge(base, each, judges), mutations), strict=True):
            told(line(mutation, verdicts))
            results.append((mutation, verdicts))
    return results


# -- what it means -----------------------------------------------------------------------------------------------------------------


def named_by(mutation: Mutation, rows: Iterable[str]) -> list[str]:
    """The rows that name the broken server and were expected to."""
    broken = set(rows)
    return [row for row in mutation.rows if row in broken]


def complaints(mutation: Mutation, verdicts: Verdicts) -> Iterator[str]:
    """What is not as it should be."""
    golden, exchanges = verdicts.get("golden"), verdicts.get("exchanges")
    if golden is not None and not golden.caught and not mutation.survives:
        yield "survives the golden corpus and nothing explains it"
    if golden is not None and golden.caught and mutation.survives:
        yield f"is caught by the golden corpus, yet {LIST.name} says why it survives"
    if exchanges is not None and not exchanges.caught:
        yield "no exchange breaks"
    elif exchanges is not None and not named_by(mutation, exchanges.rows):
        yield f"named by {' '.join(exchanges.rows)}, not by {' '.join(mutation.rows)}"


def line(mutation: Mutation, verdicts: Verdicts) -> str:
    """One mutation in the table that a run prints."""
    cells = [f"{mutation.name:40}"]
    for name, verdict in verdicts.items():
        rows = " ".join(named_by(mutation, verdict.rows))
        cells.append(f"{name}: {f'caught ({verdict.broken}) {rows}'.strip() if verdict.caught else 'SURVIVES'}")
        cells += [f"\n    {verdict.first[:200]}"] if verdict.caught else []
    return " ".join(cells) + "".join(f"\n  ! {problem}" for problem in complaints(mutation, verdicts))


def as_data(results: Sequence[tuple[Mutation, Verdicts]], seconds: float) -> dict[str, Any]:
    """The run as docs/data keeps it."""
    rows = {
        mutation.name: {"breaks": mutation.breaks}
        | {
            judge: {
                "caught": verdict.caught,
                "broken": verdict.broken,
                "first": verdict.first[:LONGEST_FIRST],
                "rows": sorted(verdict.rows),
            }
            for judge, verdict in verdicts.items()
        }
        for mutation, verdicts in results
    }
    return {"release": "4.3", "seconds": round(seconds), "mutations": rows}


# -- the page ----------------------------------------------------------------------------------------------------------------------


def page(data: dict[str, Any], mutations: Sequence[Mutation]) -> str:
    """docs/mutations.md."""
    found = data["mutations"]
    survivors = [each for each in mutations if not found[each.name]["golden"]["caught"]]
    count, caught = len(mutations), len(mutations) - len(survivors)
    named = sum(bool(named_by(each, found[each.name]["exchanges"]["rows"])) for each in mutations)
    lines = [NOTICE, "# The checks can fail", "", *INTRODUCTION.format(count=count, caught=caught, named=named, **data).splitlines(), ""]
    lines += ["| mutation | what it breaks | golden corpus: scripts that differ | exchanges: rows that name it |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(_cells(each, found[each.name]))} |" for each in mutations]
    lines += ["", "## What the golden corpus lets pass", ""]
    lines += [f"- `{each.name}`: {each.survives}" for each in survivors] or ["Nothing."]
    lines += ["", "## The first difference of each", "", "| mutation | golden corpus | exchanges |", "|---|---|---|"]
    lines += [f"| `{each.name}` | {_first(found[each.name]['golden'])} | {_first(found[each.name]['exchanges'])} |" for each in mutations]
    return "\n".join(lines) + "\n"


def _cells(mutation: Mutation, found: dict[str, Any]) -> list[str]:
    golden, exchanges = found["golden"], found["exchanges"]
    rows = named_by(mutation, exchanges["rows"])
    more = len(exchanges["rows"]) - len(rows)
    told = " ".join(f"`{row}`" for row in rows) + (f" and {more} more" if more else "")
    return [f"`{mutation.name}`", mutation.breaks, str(golden["broken"]) if golden["caught"] else "**survives**", told or "**none**"]


def _first(found: dict[str, Any]) -> str:
    text = re.sub(r"[`\\|\s]+", " ", found["first"]).strip()
    return f"`{text}`" if text else ""


# -- the command -------------------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge what was asked for; 0: all as it should be."""
    options = _options(arguments)
    mutations = load()
    if options.page:
        PAGE.write_text(page(json.loads(DATA.read_text(encoding="utf-8")), mutations), encoding="utf-8")
        return 0
    chosen = _chosen(mutations, options)
    began = time.monotonic()
    with snapshot() as base:
        for mutation in mutations:  # all of them, so that a sample too says what has to be repaired
            check(mutation, base)
        results = run(chosen, options.judge or list(FOLDERS), base)
    seconds = time.monotonic() - began
    wrong = sum(bool(list(complaints(*result))) for result in results)
    print(f"{len(results)} mutations in {seconds:.0f} s, {wrong} not as they should be")
    if len(chosen) == len(mutations) and not options.judge:
        DATA.parent.mkdir(exist_ok=True)
        DATA.write_text(json.dumps(as_data(results, seconds), indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(json.loads(DATA.read_text(encoding="utf-8")), mutations), encoding="utf-8")
    return 1 if wrong else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutations to judge; all when none is named")
    parser.add_argument("--sample", type=int, metavar="N", help="so many, chosen at random")
    parser.add_argument("--seed", type=int, default=datetime.date.today().toordinal(), help="what the choice depends on: the day")
    parser.add_argument("--judge", action="append", choices=list(FOLDERS), help="this judge only (may be repeated)")
    parser.add_argument("--page", action="store_true", help="only write the page again")
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
