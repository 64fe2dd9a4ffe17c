"""`make mutations`: can our checks fail? Plants small mistakes in a copy of the sources, one at a time, and asks the judges.

    python -m tools.mutations                     every mutation of tests/mutations/mutations.toml; writes its record and page
    python -m tools.mutations NAME ...            these only; writes nothing
    python -m tools.mutations --sample 8          so many, chosen by the day (or --seed); writes nothing
    python -m tools.mutations --page              docs/mutations.md from tools/records/mutations.json
    python -m tools.mutations --unit core net     these folders of tests/unit for every mutation; writes no page
    python -m tools.mutations --matrix FILE       a line of JSON per mutation: judge -> what it breaks, whole (which test kills what)

Exit code 1: a mutation survived the golden corpus and nothing explains it, no exchange names it by a row it should be named by, or no
unit test notices what the other judges cannot see.
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

ROOT: Final = Path(__file__).resolve().parents[2]
LIST: Final = ROOT / "tests/mutations/mutations.toml"
DATA: Final = ROOT / "tools/records/mutations.json"
PAGE: Final = ROOT / "docs/mutations.md"
CORE: Final = "broker/groupmock/core/"
SOURCES: Final = ("codec", "broker", "clients")
FOLDERS: Final = {"golden": "tests/golden", "exchanges": "clients/groupmock_clients/probe/exchanges", "unit": "tests/unit"}
"""Judge -> what it judges by."""
ON_THE_WIRE: Final = ("golden", "exchanges")
NEEDED: Final = (*SOURCES, "pipeline", "tests", "docs", "tools", "pyproject.toml", "README.md")
"""What a snapshot holds: the sources, and whatever a unit test reads."""
PROCESSES: Final = 2
PATIENCE_S: Final = 180
LONGEST_FIRST: Final = 160
FEW: Final = 3
"""So many unit tests are named, where no more than these notice a mistake: none of them is one too many."""
MOST_SURVIVORS: Final = 0.05
"""Of the mutations, this share may survive the golden corpus, each with an explanation (tests/mutations holds the last run to it)."""
NOTICE: Final = "<!-- written by tools/mutations (`make mutations`): do not edit -->"
INTRODUCTION: Final = """\
{count} small mistakes, planted one at a time in a copy of the sources (`make mutations`; this run took {seconds} s); the list is
`tests/mutations/mutations.toml`. Three judges, all of them part of `make test`, look at what is broken. Two see only what goes over the
wire, and are asked about the core:

- the **golden corpus** (`tests/golden`: the recorded answers of Kafka {release}, replayed) catches {caught} of {core};
- the **exchanges** (what `groupmock probe` asks of any broker) also say *which rule* is broken: {named} of the {ruled} that break a rule
  of theirs are named by a row that they were expected to break.

The third, the **unit tests** of the part that is broken (`tests/unit/<part>`), notices {noticed} of {count}: {noticed_core} of the {core}
of the core, and {noticed_rest} of the {rest} elsewhere, where it is asked alone. What went from the tests by this evidence:
[tests.md](tests.md)."""


class Stale(Exception):
    """The list of mutations does not fit the sources any more."""


@dataclass(frozen=True)
class Mutation:
    """One mistake. `rows`: those that may name it, () where no rule of the exchanges speaks of it; `survives`: why the golden corpus
    cannot see it."""

    name: str
    file: str
    old: str
    new: str
    breaks: str
    rows: tuple[str, ...] = ()
    survives: str = ""

    @property
    def in_core(self) -> bool:
        """Is it something that a client could see, whatever the rest of the server does?"""
        return self.file.startswith(CORE)

    @property
    def judges(self) -> tuple[str, ...]:
        """Who is asked."""
        return tuple(judge for judge, asked in zip(FOLDERS, (self.in_core, self.rows, True), strict=True) if asked)

    @property
    def part(self) -> str:
        """The folder of tests/unit that mirrors the broken file: core, codec, net, ..."""
        folders = {folder.name for folder in (ROOT / FOLDERS["unit"]).iterdir() if folder.is_dir()}
        return next(name for each in Path(self.file).parent.parts[::-1] if (name := each.removeprefix("groupmock_")) in folders)


@dataclass(frozen=True)
class Verdict:
    """What one judge says of one mutation. `rows`: row -> broken exchanges of it, or test -> how often it failed; `first`: the difference
    that was found first."""

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
    return [Mutation(name=name, **{**entry, "rows": tuple(entry.get("rows", ()))}) for name, entry in listed.items()]


def plant(mutation: Mutation, root: Path) -> None:
    """Make the mistake in the sources below `root`. Raises Stale unless the old text stands there exactly once."""
    file = root / mutation.file
    if not file.is_file():
        raise Stale(f"{mutation.name}: there is no {mutation.file}: {LIST.name} must be kept up to date")
    text = file.read_text(encoding="utf-8")
    times = text.count(mutation.old)
    if times != 1:
        raise Stale(
            f"{mutation.name}: its old text stands {times} times in {mutation.file}, not once: {LIST.name} must be kept up to date\n"
            f"{mutation.old.strip(chr(10))}"
        )
    if mutation.new == mutation.old:
        raise Stale(f"{mutation.name}: changes nothing")
    shutil.rmtree(file.parent / "__pycache__", ignore_errors=True)
    file.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")


def check(mutation: Mutation, base: Path = ROOT) -> None:
    """Does the old text stand where the list says? Raises Stale."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / mutation.file
        copy.parent.mkdir(parents=True)
        if (base / mutation.file).is_file():
            shutil.copy(base / mutation.file, copy)
        plant(mutation, Path(folder))


# -- judging -----------------------------------------------------------------------------------------------------------------------


@contextmanager
def snapshot(root: Path = ROOT) -> Iterator[Path]:
    """A copy of the sources and the judges' data, so that nothing moves while a run goes on."""
    with tempfile.TemporaryDirectory(prefix="groupmock-mutations-") as folder:
        for name in NEEDED:  # the exchanges are part of the clients
            if (root / name).is_dir():
                shutil.copytree(root / name, Path(folder) / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif (root / name).is_file():
                shutil.copy(root / name, Path(folder) / name)
        yield Path(folder)


def judge(base: Path, mutation: Mutation | None, judges: Iterable[str], unit: Sequence[str] = ()) -> Verdicts:
    """Every judge's verdict on the sources of `base` with that mistake in them (None: as they are). `unit`: these folders of unit tests."""
    with tempfile.TemporaryDirectory(prefix="groupmock-mutant-") as folder:
        mutant = Path(folder)
        for name in SOURCES:
            shutil.copytree(base / name, mutant / name, ignore=shutil.ignore_patterns("__pycache__"))
        if mutation is not None:
            plant(mutation, mutant)
            unit = unit or (mutation.part,)
        return {name: _verdict(name, base, mutant, unit) for name in judges}


def _verdict(name: str, base: Path, mutant: Path, unit: Sequence[str]) -> Verdict:
    path = os.pathsep.join(map(str, (*(mutant / each for each in SOURCES), base)))  # base: for tools.fidelity
    asked = [str(base / FOLDERS[name] / each) for each in unit] if name == "unit" else [str(base / FOLDERS[name])]
    command = [sys.executable, "-P", "-m", "tools.mutations.judge_process", name, str(mutant), *asked]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd=base, env={**os.environ, "PYTHONPATH": path}
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
    mutations: Sequence[Mutation],
    judges: Sequence[str],
    base: Path,
    told: Callable[[str], None] = print,
    unit: Sequence[str] = (),
) -> list[tuple[Mutation, Verdicts]]:
    """Judge them all, two at a time, a line each. Raises RuntimeError when a judge finds fault with the unchanged sources."""
    folders = unit or sorted({each.part for each in mutations})
    asked = [each for each in judges if each != "unit" or folders]
    innocent = [f"{name}: {verdict.first}" for name, verdict in judge(base, None, asked, folders).items() if verdict.caught]
    if innocent:
        raise RuntimeError("the sources without any mutation are found guilty, so the judges prove nothing:\n" + "\n".join(innocent))
    results = []
    with ThreadPoolExecutor(PROCESSES) as pool:
        judged = pool.map(lambda each: judge(base, each, [name for name in each.judges if name in judges], unit), mutations)
        for mutation, verdicts in zip(mutations, judged, strict=True):
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
    golden, exchanges, unit = verdicts.get("golden"), verdicts.get("exchanges"), verdicts.get("unit")
    if golden is not None and not golden.caught and not mutation.survives:
        yield "survives the golden corpus and nothing explains it"
    if golden is not None and golden.caught and mutation.survives:
        yield f"is caught by the golden corpus, yet {LIST.name} says why it survives"
    if exchanges is not None and not exchanges.caught:
        yield "no exchange breaks"
    elif exchanges is not None and not named_by(mutation, exchanges.rows):
        yield f"named by {' '.join(exchanges.rows)}, not by {' '.join(mutation.rows)}"
    if unit is not None and not unit.caught and not mutation.in_core:
        yield "no unit test fails"


def line(mutation: Mutation, verdicts: Verdicts) -> str:
    """One mutation in the table that a run prints."""
    cells = [f"{mutation.name:40}"]
    for name, verdict in verdicts.items():
        rows = " ".join(named_by(mutation, verdict.rows))
        cells.append(f"{name}: {f'caught ({verdict.broken}) {rows}'.strip() if verdict.caught else 'SURVIVES'}")
        cells += [f"\n    {verdict.first[:200]}"] if verdict.caught else []
    return " ".join(cells) + "".join(f"\n  ! {problem}" for problem in complaints(mutation, verdicts))


def as_data(results: Sequence[tuple[Mutation, Verdicts]], seconds: float) -> dict[str, Any]:
    """The run as tools/records keeps it."""
    rows = {
        mutation.name: {"breaks": mutation.breaks}
        | {
            judge: {
                "caught": verdict.caught,
                "broken": verdict.broken,
                "first": verdict.first[:LONGEST_FIRST],
                "rows": sorted(verdict.rows) if judge != "unit" or len(verdict.rows) <= FEW else [],
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
    core = [each for each in mutations if each.in_core]
    survivors = [each for each in core if not found[each.name]["golden"]["caught"]]
    noticed = [each for each in mutations if found[each.name]["unit"]["caught"]]
    counts = {
        "count": len(mutations),
        "core": len(core),
        "caught": len(core) - len(survivors),
        "ruled": sum(bool(each.rows) for each in mutations),
        "named": sum(bool(named_by(each, found[each.name]["exchanges"]["rows"])) for each in mutations if each.rows),
        "noticed": len(noticed),
        "noticed_core": sum(each.in_core for each in noticed),
        "noticed_rest": sum(not each.in_core for each in noticed),
        "rest": len(mutations) - len(core),
    }
    lines = [NOTICE, "# The checks can fail", "", *INTRODUCTION.format(**counts, **data).splitlines(), "", "## The core", ""]
    lines += ["| mutation | what it breaks | golden corpus: scripts that differ | exchanges: rows that name it | unit tests that fail |"]
    lines += ["|---|---|---|---|---|"]
    lines += [f"| {' | '.join(_cells(each, found[each.name]))} |" for each in core]
    lines += ["", "## Everything else", "", "| mutation | what it breaks | unit tests that fail |", "|---|---|---|"]
    lines += [f"| `{each.name}` | {each.breaks} | {_tests(found[each.name])} |" for each in mutations if not each.in_core]
    lines += ["", "## Caught by one judge alone", ""]
    lines += [f"- `{each.name}`: {only}" for each in core if (only := _alone(found[each.name]))] or ["Nothing."]
    lines += ["", "## Noticed by few unit tests", "", f"Where no more than {FEW} notice it, none of these may go.", ""]
    few = {each.name: [f"`{test}`" for test in found[each.name]["unit"]["rows"]] for each in noticed}
    lines += [f"- `{name}`: {', '.join(tests)}" for name, tests in few.items() if tests]
    lines += ["", "## What the golden corpus lets pass", ""]
    lines += [f"- `{each.name}`: {each.survives}" for each in survivors] or ["Nothing."]
    lines += ["", "## The first difference of each", "", "| mutation | golden corpus | exchanges |", "|---|---|---|"]
    lines += [f"| `{each.name}` | {' | '.join(_first(found[each.name].get(judge)) for judge in ON_THE_WIRE)} |" for each in core]
    return "\n".join(lines) + "\n"


def _cells(mutation: Mutation, found: dict[str, Any]) -> list[str]:
    golden, broken = found["golden"], found["exchanges"]["rows"] if mutation.rows else []
    rows = named_by(mutation, broken)
    more = len(broken) - len(rows)
    told = " ".join(f"`{row}`" for row in rows) + (f" and {more} more" if more else "")
    survived = str(golden["broken"]) if golden["caught"] else "**survives**"
    return [f"`{mutation.name}`", mutation.breaks, survived, told or ("**none**" if mutation.rows else "no rule"), _tests(found)]


def _tests(found: dict[str, Any]) -> str:
    return str(found["unit"]["broken"]) if found["unit"]["caught"] else "**none**"


def _alone(found: dict[str, Any]) -> str:
    """The judge without which the mistake would pass; "" when several catch it."""
    judges = [judge for judge in FOLDERS if judge in found and found[judge]["caught"]]
    return judges[0] if len(judges) == 1 else ""


def _first(found: dict[str, Any] | None) -> str:
    text = re.sub(r"[`\\|\s]+", " ", found["first"] if found else "").strip()
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
        results = run(chosen, options.judge or list(FOLDERS), base, unit=options.unit)
    seconds = time.monotonic() - began
    wrong = sum(bool(list(complaints(*result))) for result in results)
    print(f"{len(results)} mutations in {seconds:.0f} s, {wrong} not as they should be")
    if options.matrix:
        lines = [json.dumps({mutation.name: {name: each.rows for name, each in verdicts.items()}}) for mutation, verdicts in results]
        options.matrix.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if len(chosen) == len(mutations) and not options.judge and not options.unit:
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
    parser.add_argument("--unit", nargs="+", default=(), metavar="FOLDER", help="these folders of tests/unit, not the part's own")
    parser.add_argument("--matrix", type=Path, metavar="FILE", help="write down what each judge found broken, whole")
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
