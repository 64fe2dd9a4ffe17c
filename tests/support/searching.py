"""Searches with pytest for failing cases: many fresh seeds, and a file for each failing case (`--search FACTOR`; `make search`).

Without `--search` the same tests decide: the profile of tests/conftest.py, seeds that begin at 0, nothing written.
"""

from __future__ import annotations

import datetime
from collections.abc import Generator
from pathlib import Path
from random import SystemRandom
from typing import Any, Final

import found
import pytest
from hypothesis import settings
from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.internal.constants_ast import Constants

from groupmock import __version__

SEARCHES: Final = "searches"
MARKS: Final = {
    "property": "holds for every case that chance may draw: `make search` draws others, and more of them",
    "policy": "a property of the cooperative policy: a part of `make search` of its own",
    "soak": "a property that goes through seeds one after another: a part of `make search` of its own",
}


class Search:
    """The amount of random cases in a run. `factor` multiplies the normal amount; `seed` is None in a normal run."""

    factor: float = 1.0
    seed: int | None = None


def examples(count: int, **more: Any) -> settings:
    return settings(max_examples=max(1, round(count * Search.factor)), **more)


def seeds(count: int) -> range:
    """Return the seeds from 0 on in a normal run, and more seeds from another beginning in a search."""
    begin = 0 if Search.seed is None else Search.seed * 1_000_003 % 2**31
    return range(begin, begin + max(1, round(count * Search.factor)))


def decides() -> bool:
    """Return whether this is a normal run, whose cases depend only on the source tree. Only then tests check that every possibility was
    drawn."""
    return Search.seed is None


# -- The hooks of pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("search")
    group.addoption("--search", metavar="FACTOR", type=float, help="draw afresh, FACTOR times as much as what decides")
    group.addoption("--search-seed", metavar="N", type=int, help="what the draws depend on (a fresh one by default)")
    group.addoption("--finds", metavar="FOLDER", type=Path, default=found.FOLDER, help="where failing cases are written (tests/found)")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set the hypothesis profile and the pytest markers. Tests ask for `examples` and `seeds` when they are collected, which is later."""
    for name, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    Search.factor, Search.seed = 1.0, None
    if (factor := config.getoption("--search")) is None:
        # Only a search may draw constants from the sources of loaded modules, because these depend on the order of tests and on the worker.
        HypothesisProvider._local_constants = Constants()  # type: ignore[assignment]  # a cached property of the provider
        return
    if factor <= 0:
        raise pytest.UsageError("--search FACTOR is above 0")
    if config.option.search_seed is None:  # Only the controller draws the seed, because workers of pytest-xdist inherit its options.
        config.option.search_seed = SystemRandom().randrange(2**31)
    Search.factor, Search.seed = factor, config.option.search_seed
    config.option.hypothesis_seed = str(Search.seed)
    settings.load_profile(SEARCHES)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say how to repeat the same search."""
    return None if Search.seed is None else f"search: --search {Search.factor:g} --search-seed {Search.seed}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "call" and report.failed and Search.seed is not None:
        report.sections.append(("find", keep(item.config.getoption("--finds"), Search.seed)))
    if call.when == "call":
        found.SHOWN.clear()
    return report


def keep(folder: Path, seed: int) -> str:
    """Write the case that was tried last and return a sentence about it."""
    if not found.SHOWN:
        return "no case was shown: this test has no property to replay"
    about = {"date": datetime.date.today().isoformat(), "seed": seed, "version": __version__}
    try:
        return f"written: {found.write(folder, found.SHOWN[0], about).name}"
    except found.Unrepeated as why:
        return f"not written: {why}"
