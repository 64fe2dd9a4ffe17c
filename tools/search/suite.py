"""Run our own tests with random cases of the marked properties, round after round with fresh seeds, until the time is over."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.runs import ROOT, TESTS_RAN, outcomes_of

from .report import SearchPart

FOUND: Final = ROOT / "tests/found"
MARKS: Final = {"properties": "(property or hypothesis) and not policy and not soak", "policies": "policy", "soaks": "soak"}
"""Maps a part of the search to its tests (tests/support/searching.py registers the marks)."""
PATIENCE_S: Final = 900
"""The time by which a round may last longer than planned, because hypothesis shrinks a failing case for up to five minutes."""
LARGEST: Final = 40.0
"""The greatest factor by which one round multiplies the number of cases that `make test` tries."""


@dataclass
class SearchRequest:
    """The limits and options of one part of a search. `select` has more words for pytest, to narrow a search down."""

    seconds: float
    seed: int
    folder: Path
    workers: int = 2
    finds: Path = FOUND
    select: Sequence[str] = ()


@dataclass
class PytestRun:
    """The result of a run of pytest. `failed` maps a test to the first line of its failure."""

    code: int
    output: str
    failed: dict[str, str]
    verdicts: dict[str, str]


def run(words: Sequence[str], wanted: SearchRequest, limit: float, environment: Mapping[str, str] | None = None) -> PytestRun:
    """Run pytest with these words and those of the search."""
    done, outcomes = outcomes_of([*words, *wanted.select], limit, wanted.workers, variables=environment)
    failed = {test: _first(outcome.text) for test, outcome in outcomes.items() if outcome.verdict == "failed"}
    return PytestRun(done.code, done.output, failed, {test: outcome.verdict for test, outcome in outcomes.items()})


def _first(text: str) -> str:
    """Return the line of pytest's output that pytest marks as the error."""
    return next((line[1:].strip() for line in text.splitlines() if line.startswith("E ")), text.strip().partition("\n")[0])


def search(name: str, wanted: SearchRequest) -> SearchPart:
    """Run rounds of the part's tests until the time is over."""
    part, before = SearchPart(name), _finds(wanted.finds)
    end = time.monotonic() + wanted.seconds
    for seed, factor in _rounds(wanted.seed, end):
        words = [*files(), "-m", MARKS[name], "--search", f"{factor:.3g}", "--search-seed", str(seed), "--finds", str(wanted.finds)]
        done = run(words, wanted, max(end - time.monotonic(), 0) + PATIENCE_S)
        if done.code not in TESTS_RAN:
            return part.failed(done.output)
        part.did.append(f"{len(done.verdicts)} tests, {factor:.3g} times what decides, seed {seed}")
        new = _finds(wanted.finds) - before
        part.finds = sorted(new)
        part.reds += [f"seed {seed}: {test}: {said}" for test, said in done.failed.items()]
        if done.failed:  # The search stops, because its next round would find the same failure.
            break
    return part


def files() -> list[str]:
    """Return the test files that contain a property, because collecting all other files takes longer than many a search."""
    mark = re.compile(r"^@(pytest\.mark\.property|given)\b", re.MULTILINE)
    return [str(file.relative_to(ROOT)) for file in sorted((ROOT / "tests").rglob("test_*.py")) if mark.search(file.read_text())]


def _rounds(seed: int, end: float) -> Iterator[tuple[int, float]]:
    """Yield seeds and factors: first the deciding number of cases, then what fits into the rest of the time."""
    factor, begun = 1.0, time.monotonic()
    yield seed, factor
    while (left := end - time.monotonic()) > (took := time.monotonic() - begun) / 4:
        factor = min(LARGEST, max(0.25, factor * 0.9 * left / max(took, 0.1)))
        seed, begun = seed + 1, time.monotonic()
        yield seed, factor


def _finds(folder: Path) -> set[str]:
    return {file.name for file in folder.glob("*.json")}
