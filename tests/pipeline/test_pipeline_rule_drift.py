"""`drift` finds which audit rule a library breaks since which version, and needs no table but `audit`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import pytest
from column_pages import PAGES
from pyspark.sql import DataFrame, Row, SparkSession

from groupmock_pipeline import tables
from groupmock_pipeline.audited.run_audit import PARTS
from groupmock_pipeline.comparison.rule_verdicts import COLUMNS
from groupmock_pipeline.errors import BadInput
from groupmock_pipeline.jobs import audit, drift

BEFORE, AFTER = "2026-11-01", "2026-11-08"
Part = dict[str, Any]


def part(day: str, run: str, rule: str | None, library: str | None, version: str | None, kept: int, broken: int, **more: Any) -> Part:
    """Return a worker's result about one library, rule and group."""
    findings = [
        {"t": at, "at": 100 + at, "sentence": f"{run} {at}", "instead": "", "library": library, "version": version, "rows": [1]}
        for at in range(broken)
    ]
    place = {"day": day, "run": run, "group": "g", "rule": rule, "severity": "error", "library": library, "version": version}
    return place | {"kept": kept, "broken": broken, "client_ids": [], "findings": findings} | more


def parts() -> list[Part]:
    """Return results in which lib 1 keeps both rules, its successor lib 2 breaks one and mends another, and `old` appears only before."""
    found = [part(BEFORE, f"b{number}", rule, "lib", "1", 3, broken) for number in range(3) for rule, broken in (("R-1", 0), ("R-2", 1))]
    found += [
        part(AFTER, f"a{number}", rule, "lib", "2", 2, broken) for number in range(4) for rule, broken in (("R-1", number % 2), ("R-2", 0))
    ]
    found += [part(BEFORE, "b0", "R-1", "old", None, 1, 0), part("2020-01-01", "long ago", "R-1", "lib", "1", 0, 9)]
    found += [part(AFTER, "a0", "R-3", None, None, 0, 0, crashed="the rule crashed: no"), part(BEFORE, "b1", "R-3", "lib", "1", 1, 0)]
    return [*found, part(AFTER, "a1", None, None, None, 0, 0, crashed="rows 3 to 4 are missing")]


def options(lake: Path, *words: str) -> Namespace:
    parser = ArgumentParser()
    drift.add_arguments(parser)
    arguments = parser.parse_args(words)
    arguments.input = arguments.output = str(lake)
    return arguments


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    table: DataFrame = audit.lines(spark.createDataFrame(parts(), PARTS))
    tables.replace(table, str(folder), "audit")
    drift.run(spark, options(folder, "--before", f"{BEFORE}..{BEFORE}", "--after", AFTER))
    return folder


@pytest.fixture(scope="module")
def lines(spark: SparkSession, lake: Path) -> dict[tuple[str, str | None, str | None], Row]:
    table = tables.read(spark, str(lake), "rule_drift")
    assert tuple(table.columns) == COLUMNS
    return {(line.rule, line.library, line.version): line for line in table.collect()}


def test_every_rule_library_and_version_has_its_change(lines: dict[tuple[str, str | None, str | None], Row]) -> None:
    assert {key: (line.change, line.verdict_before, line.verdict_after) for key, line in lines.items()} == {
        ("R-1", "lib", "1"): ("only before", "kept", "not exercised"),
        ("R-1", "lib", "2"): ("only after", "not exercised", "broken"),
        ("R-1", "lib", "*"): ("broke", "kept", "broken"),
        ("R-1", "old", ""): ("only before", "kept", "not exercised"),
        ("R-2", "lib", "1"): ("only before", "broken", "not exercised"),
        ("R-2", "lib", "2"): ("only after", "not exercised", "kept"),
        ("R-2", "lib", "*"): ("mended", "broken", "kept"),
        ("R-3", "lib", "1"): ("only before", "kept", "not exercised"),
        ("R-3", "lib", "*"): ("only before", "kept", "not exercised"),
        ("R-3", None, None): ("only after", "not exercised", "unknown"),
    }


def test_figures_and_evidence(lines: dict[tuple[str, str | None, str | None], Row]) -> None:
    broke, mended = lines["R-1", "lib", "*"], lines["R-2", "lib", "*"]
    assert (broke.runs_before, broke.runs_after, broke.broken_runs_before, broke.broken_runs_after) == (3, 4, 0, 2)
    assert (broke.kept_before, broke.kept_after, broke.broken_before, broke.broken_after) == (9, 8, 0, 2)
    assert [(each.run, each.day, each.group, each.sentence, each.at) for each in broke.evidence] == [
        ("a1", AFTER, "g", "a1 0", 100), ("a3", AFTER, "g", "a3 0", 100),
    ]  # fmt: skip
    assert {each.run for each in mended.evidence} == {"b0", "b1", "b2"}
    assert (broke.severity, broke.before, broke.after) == ("error", f"{BEFORE}..{BEFORE}", AFTER)


def test_a_lake_without_measures_has_no_other_drift(spark: SparkSession, lake: Path) -> None:
    assert not tables.exists(spark, str(lake), "drift")


def test_windows_without_a_run(spark: SparkSession, lake: Path) -> None:
    with pytest.raises(BadInput, match=r"no run of .* is in either window"):
        drift.run(spark, options(lake, "--before", "1999-01-01", "--after", "1999-01-02"))


def test_the_page_has_every_column() -> None:
    text = (PAGES / "drift.md").read_text(encoding="utf-8").partition("## Table `rule_drift`")[2]
    assert [name for name in COLUMNS if f"`{name}`" not in text] == []
