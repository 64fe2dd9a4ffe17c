"""The job `drift` computes the same figures as plain Python and finds planted shifts; windows and missing columns work."""

from __future__ import annotations

import math
import re
from argparse import ArgumentParser, Namespace
from itertools import product
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pytest
from column_pages import documented
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from groupmock_pipeline import tables
from groupmock_pipeline.comparison import statistics
from groupmock_pipeline.comparison.measures import MEASURES as FULL
from groupmock_pipeline.comparison.measures import SHAPE, Measure
from groupmock_pipeline.errors import BadInput
from groupmock_pipeline.jobs import drift, heartbeats, rebalances

SEED = 9
MEASURES = (Measure("pause", "rebalances", "pause", "ns"), Measure("hits", "rebalances", "hits", "hits", "down", "sum"))
SQL = {"case", "when", "then", "end", "s", "nullif", "aggregate", "map_values", "sum", "count"}
UPGRADED = "upgraded"
BEFORE, AFTER = "2026-11-01", "2026-11-08"
Runs = dict[str, list[float]]


# -- the same in plain Python ------------------------------------------------------------------------------------------


def mann_whitney(before: list[float], after: list[float]) -> float:
    """Return the two-sided p-value of the Mann-Whitney test, by normal approximation with corrections for ties and continuity. U is
    counted pair by pair."""
    n, m = len(before), len(after)
    u = sum((y > x) + 0.5 * (y == x) for x, y in product(before, after))
    whole = [*before, *after]
    ties = sum(whole.count(value) ** 3 - whole.count(value) for value in set(whole))
    spread = math.sqrt(n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1))))
    z = max(0.0, abs(u - n * m / 2) - 0.5) / spread if spread else 0.0
    return min(1.0, math.erfc(z / math.sqrt(2)))


def cliff(before: list[float], after: list[float]) -> float:
    return sum((y > x) - (y < x) for x, y in product(before, after)) / (len(before) * len(after))


def interval(values: list[float]) -> tuple[float, float]:
    """Return the 95 % confidence interval of the median, by order statistics."""
    ordered, n = sorted(values), len(values)
    half = 1.959963984540054 * math.sqrt(n) / 2
    return ordered[max(1, math.floor(n / 2 - half)) - 1], ordered[min(n, math.ceil(1 + n / 2 + half)) - 1]


def benjamini_hochberg(chances: dict[Any, float]) -> dict[Any, float]:
    ordered = sorted(chances, key=lambda key: chances[key])
    found, least = {}, 1.0
    for place in range(len(ordered), 0, -1):
        least = min(least, chances[ordered[place - 1]] * len(ordered) / place)
        found[ordered[place - 1]] = least
    return found


# -- planted -----------------------------------------------------------------------------------------------------------


def planted(dice: Random) -> dict[str, tuple[Runs, Runs]]:
    """Return the runs before and after for each library, each run with its samples of `pause`."""

    def some(count: int, place: float, samples: int = 3, digits: int = 9) -> Runs:
        return {f"{dice.random():.12f}": [round(dice.gauss(place, 1), digits) for _ in range(samples)] for _ in range(count)}

    cases = {
        "up": (some(20, 10), some(25, 13)),
        "down": (some(12, 10), some(9, 7)),
        "tied": (some(15, 10, digits=0), some(15, 11, digits=0)),
        "small effect": (some(60, 10, 1), some(60, 10.1, 1)),
        "equal": ({f"e{n}": [4.0] for n in range(9)}, {f"f{n}": [4.0] for n in range(9)}),
        "few": (some(20, 10), some(7, 99)),
        "only after": ({}, some(9, 1)),
    }
    for number in range(30):
        cases[f"null {number}"] = (some(20, 10, 2), some(20, 10, 2))
    for number in range(10):
        cases[f"moved {number}"] = (some(20, 10, 2), some(20, 12, 2))
    return cases


def frame(spark: SparkSession, cases: dict[str, tuple[Runs, Runs]]) -> DataFrame:
    rows = [
        (day, f"{library} {run}", "g", library, "1", "pause", value, 1000 + place)
        for library, sides in cases.items()
        for day, runs in zip((BEFORE, AFTER), sides, strict=True)
        for run, values in runs.items()
        for place, value in enumerate(values)
    ]
    return spark.createDataFrame(rows + upgraded(), SHAPE)


def upgraded() -> list[tuple[Any, ...]]:
    """Return runs of a library with version 1 before and version 2 after; one run is very long."""
    rows: list[tuple[Any, ...]] = [(BEFORE, "long", "g", UPGRADED, "1", "hits", 1.0, at) for at in range(500)]
    rows += [(BEFORE, f"b{n}", "g", UPGRADED, "1", "hits", float(n), 1) for n in range(9)]
    return rows + [(AFTER, f"a{n}", "g", UPGRADED, "2", "hits", float(n), 1) for n in range(10)]


@pytest.fixture(scope="module")
def cases() -> dict[str, tuple[Runs, Runs]]:
    print(f"seed {SEED}")
    return planted(Random(SEED))


@pytest.fixture(scope="module")
def every(spark: SparkSession, cases: dict[str, tuple[Runs, Runs]]) -> list[Row]:
    before, after = drift.windows(None, None, AFTER)
    return drift.drift(frame(spark, cases), before, after, measures=MEASURES).collect()


@pytest.fixture(scope="module")
def lines(every: list[Row]) -> dict[str, Row]:
    return {row.library: row for row in every if row.library != UPGRADED}


def of_runs(sides: tuple[Runs, Runs]) -> tuple[list[float], list[float]]:
    before, after = ([median(values) for values in runs.values()] for runs in sides)
    return before, after


def test_figures_are_those_of_plain_python(cases: dict[str, tuple[Runs, Runs]], lines: dict[str, Row]) -> None:
    assert set(lines) == set(cases)
    for library, sides in cases.items():
        line, (before, after) = lines[library], of_runs(sides)
        assert (line.runs_before, line.runs_after) == (len(before), len(after)), library
        assert line.samples_after == sum(map(len, sides[1].values()))
        assert line.median_after == pytest.approx(median(after), rel=1e-12)
        assert (line.low_after, line.high_after) == pytest.approx(interval(after), rel=1e-12), library
        if before:
            assert line.median_before == pytest.approx(median(before), rel=1e-12)
            assert line.difference == pytest.approx(median(after) - median(before), rel=1e-9)
            assert line.ratio == pytest.approx(median(after) / median(before), rel=1e-12)
            assert line.delta == pytest.approx(cliff(before, after), abs=1e-12), library


def test_p_and_q_are_those_of_plain_python(cases: dict[str, tuple[Runs, Runs]], lines: dict[str, Row]) -> None:
    enough = {library: of_runs(sides) for library, sides in cases.items() if min(map(len, sides)) >= 8}
    chances = {library: mann_whitney(*sides) for library, sides in enough.items()}
    hits = [float(n) for n in range(10)]
    shares = benjamini_hochberg(chances | {UPGRADED: mann_whitney([*hits[:9], 500.0], hits)})
    for library in cases:
        line = lines[library]
        if library in enough:
            assert (line.p, line.q) == pytest.approx((chances[library], shares[library]), rel=1e-9), library
        else:
            assert (line.p, line.q) == (None, None), library


def test_verdicts(lines: dict[str, Row]) -> None:
    told = {library: (line.verdict, line.worse) for library, line in lines.items() if not library.startswith(("null", "moved"))}
    assert told == {
        "up": ("moved", True), "down": ("moved", False), "tied": told["tied"], "small effect": ("not", None), "equal": ("not", None),
        "few": ("too few runs", None), "only after": ("too few runs", None),
    }  # fmt: skip
    assert lines["up"].unit == "ns"


def test_planted_shifts_are_found_and_few_others(lines: dict[str, Row]) -> None:
    """The data has 30 keys without a shift and 10 with a shift of two standard deviations. The next test bounds the false findings."""
    verdicts = {library: line.verdict for library, line in lines.items()}
    assert all(verdicts[library] == "moved" for library in verdicts if library.startswith("moved"))
    nulls = [line for library, line in lines.items() if library.startswith("null")]
    # The number of keys with p <= 0.05 has the distribution Binomial(30, 0.05), so more than 6 occur for one seed in 1,000.
    assert sum(line.p <= 0.05 for line in nulls) <= 6
    assert [line.verdict for line in nulls].count("moved") <= 1


def test_false_findings_are_bounded_as_promised() -> None:
    """Over 40 seeds, at most 5 % of the findings that the verdict's rule reports are false on average."""
    shares = []
    for seed in range(40):
        sides = {library: of_runs(each) for library, each in planted(Random(seed)).items() if library.startswith(("null", "moved"))}
        q = benjamini_hochberg({library: mann_whitney(*each) for library, each in sides.items()})
        moved = [library for library, each in sides.items() if q[library] <= 0.05 and abs(cliff(*each)) >= 0.33]
        assert len([library for library in moved if library.startswith("moved")]) == 10, seed
        shares.append(sum(library.startswith("null") for library in moved) / len(moved))
    assert sum(shares) / len(shares) <= 0.05, shares


def test_the_evidence_is_the_extreme_samples_after_of_different_runs(cases: dict[str, tuple[Runs, Runs]], lines: dict[str, Row]) -> None:
    for library, pick, reverse in (("up", max, True), ("down", min, False)):
        worst = sorted(((pick(values), f"{library} {run}") for run, values in cases[library][1].items()), reverse=reverse)
        assert [(each.value, each.run) for each in lines[library].evidence] == worst[:5]
        assert {each.day for each in lines[library].evidence} == {AFTER}


# -- pieces ------------------------------------------------------------------------------------------------------------


def test_the_tail_of_the_normal_distribution(spark: SparkSession) -> None:
    places = [0.0, 0.1, 1.0, 1.96, 3.0, 3.99, 4.0, 5.0, 8.0, 20.0, 37.0]
    told = spark.createDataFrame([(each,) for each in places], "z double").select("z", statistics.tail(F.col("z")).alias("tail")).collect()
    for z, found in told:
        assert found == pytest.approx(math.erfc(z / math.sqrt(2)) / 2, rel=1e-9), z


def test_a_run_is_one_observation_however_long_it_is_and_versions_are_also_taken_together(every: list[Row]) -> None:
    lines = {row.version: row for row in every if row.library == UPGRADED}
    assert {version: (row.runs_before, row.samples_before, row.runs_after) for version, row in lines.items()} == {
        "1": (10, 509, 0), "2": (0, None, 10), "*": (10, 509, 10),
    }  # fmt: skip
    assert lines["*"].median_before == 4.5  # The values are 0 to 8 and 500, where 500 is the sum of the long run, so the median is 4.5.
    assert (lines["*"].verdict, lines["1"].verdict) == ("not", "too few runs")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((None, None, None), "say which runs"),
        (("2026-11-01", None, None), "say which runs"),
        (("2026-11-01", "2026-11-02", "2026-11-03"), "leave --before and --after out"),
        ((None, None, "1.11.2026"), "a day is written"),
        (("2026-11-01..x", "2026-11-02", None), "--before x"),
        (("..", "2026-11-02", None), "at least one day"),
        (("run:(", "run:b", None), "not a regular expression"),
    ],
)
def test_bad_windows(spark: SparkSession, words: tuple[str | None, str | None, str | None], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        drift.windows(*words)


def test_the_page_of_drift_has_every_column() -> None:
    assert documented("drift", drift.COLUMNS) == (set(), set())


def test_windows_by_day_and_by_run(spark: SparkSession) -> None:
    runs = spark.createDataFrame([(f"2026-11-0{n}", f"nightly-{n}") for n in range(1, 8)], "day string, run string")
    words = (("2026-11-01..2026-11-03", "2026-11-05", None), ("run:nightly-[12]", "run:.*-7", None), (None, None, "2026-11-04"))
    conditions = [each for word in words for each in drift.windows(*word)]
    told = runs.select(*[F.array_join(F.array_sort(F.collect_list(F.when(each, F.right("run", F.lit(1))))), "") for each in conditions])
    assert list(told.first() or ()) == ["123", "5", "12", "7", "123", "4567"]


def test_every_measure_is_of_columns_that_its_table_has() -> None:
    for measure in FULL:
        names = set(re.findall(r"[a-z_][a-z_0-9]*", re.sub(r"'[^']*'", "", measure.expression)))
        columns = (rebalances if measure.table == "rebalances" else heartbeats).COLUMNS
        assert names - SQL <= set(columns), measure
        assert names & set(columns) or measure.expression == "1", measure


# -- the job -----------------------------------------------------------------------------------------------------------


def options(*words: str) -> Namespace:
    parser = ArgumentParser()
    drift.add_arguments(parser)
    return parser.parse_args(words)


def test_the_job_reads_what_there_is_and_reports_what_is_missing(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path)
    dice = Random(SEED)
    rows = [
        (day, f"{day} {n}", "g", ["kafka-python 3.0.12", "aiokafka"], n, n + int((10 + shift + dice.random()) * 1e9), "stable")
        for day, shift in ((BEFORE, 0), (AFTER, 5))
        for n in range(8)
    ]
    shape = "day string, run string, group string, libraries array<string>, started_at bigint, ended_at bigint, ended string"
    tables.replace(spark.createDataFrame(rows, shape), lake, "rebalances")
    arguments = options("--split", AFTER)
    arguments.input, arguments.output = lake, lake
    drift.run(spark, arguments)
    written = tables.read(spark, lake, "drift")
    assert tuple(written.columns) == drift.COLUMNS
    lines = written.collect()
    moved = {(row.measure, row.library, row.version): row.worse for row in lines if row.verdict == "moved"}
    assert moved == {("rebalance_duration", "kafka-python", "3.0.12"): True, ("rebalance_duration", "aiokafka", ""): True}
    missing = {row.measure: row.reason for row in lines if row.verdict == "not measured"}
    assert "preparing_ns" in missing["rebalance_preparing"] and "no table heartbeats" in missing["heartbeat_gap_p99"]
    assert {(row.before, row.after) for row in lines} == {(f"until {AFTER}", f"from {AFTER}")}

    for words in (("--before", "run:nightly-1.*", "--after", "run:nightly-2.*"), ("--before", "1999-01-01", "--after", "1999-01-02")):
        nobody = options(*words)
        nobody.input = nobody.output = lake
        with pytest.raises(BadInput, match=f"no run of {lake} is in either window: its runs are {BEFORE} 0 to {AFTER} 7, of {BEFORE} to"):
            drift.run(spark, nobody)


def test_a_lake_without_either_table(spark: SparkSession, tmp_path: Path) -> None:
    arguments = options("--split", AFTER)
    arguments.input = arguments.output = str(tmp_path)
    with pytest.raises(BadInput, match="neither rebalances nor heartbeats"):
        drift.run(spark, arguments)
