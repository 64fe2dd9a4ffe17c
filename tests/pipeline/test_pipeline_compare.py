"""The job `compare` aligns runs by scenario, computes the same figures as plain Python, and lists scenarios of only one side."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pytest
from column_pages import documented
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from groupmock_pipeline import tables
from groupmock_pipeline.comparison import alignment
from groupmock_pipeline.comparison.measures import SHAPE, Measure
from groupmock_pipeline.errors import BadInput
from groupmock_pipeline.jobs import compare
from groupmock_pipeline.lake import sink

SEED = 5
MEASURES = (Measure("pause", "rebalances", "pause", "ns"), Measure("moved", "rebalances", "moved", "partitions"))
Side = dict[tuple[str, str | None], list[list[float]]]
"""(scenario, measure) -> samples of each run."""


def sides() -> tuple[Side, Side]:
    dice = Random(SEED)

    def some(runs: int, place: float, spread: float) -> list[list[float]]:
        return [[round(dice.gauss(place, spread), 6) for _ in range(3)] for _ in range(runs)]

    ours: Side = {
        ("same", "pause"): some(9, 100, 2), ("slower", "pause"): some(9, 100, 5), ("noisy", "pause"): some(10, 10, 30),
        ("single", "moved"): [[8]], ("single apart", "moved"): [[8]], ("overlap", "pause"): [[1], [9], [2]],
        ("zero", "moved"): [[0], [0]], ("ours only", "pause"): [[1]], ("same", "moved"): [[4]], ("silent", None): [[]],
    }  # fmt: skip
    theirs: Side = {
        ("same", "pause"): some(12, 101, 2), ("slower", "pause"): some(8, 150, 5), ("noisy", "pause"): some(10, 14, 30),
        ("single", "moved"): [[8]], ("single apart", "moved"): [[12]], ("overlap", "pause"): [[2], [7], [5]],
        ("zero", "moved"): [[0]], ("theirs only", "pause"): [[1], [2]], ("silent", None): [[], []],
    }  # fmt: skip
    return ours, theirs


def frame(spark: SparkSession, side: Side) -> DataFrame:
    rows: list[tuple[Any, ...]] = []
    for (scenario, measure), runs in side.items():
        for number, values in enumerate(runs):
            place = ("2026-11-21", f"{scenario} {number}", "g", None, None, measure)
            rows += [(*place, float(value), at, scenario) for at, value in enumerate(values)] or [(*place, None, None, scenario)]
    return spark.createDataFrame(rows, f"{SHAPE}, scenario string")


@pytest.fixture(scope="module")
def lines(spark: SparkSession) -> dict[tuple[str, str | None], Row]:
    ours, theirs = sides()
    found = compare.compare(frame(spark, ours), frame(spark, theirs), measures=MEASURES).collect()
    return {(row.scenario, row.measure): row for row in found}


def test_every_scenario_of_either_side_has_its_lines(lines: dict[tuple[str, str | None], Row]) -> None:
    ours, theirs = sides()
    assert set(lines) == set(ours) | set(theirs)


def test_verdicts_and_their_reasons(lines: dict[tuple[str, str | None], Row]) -> None:
    told = {key: row.verdict for key, row in lines.items()}
    assert told == {
        ("same", "pause"): "agree", ("slower", "pause"): "differ", ("noisy", "pause"): "unclear", ("single", "moved"): "agree",
        ("single apart", "moved"): "differ", ("overlap", "pause"): "unclear", ("zero", "moved"): "agree",
        ("ours only", "pause"): "only ours", ("theirs only", "pause"): "only theirs", ("same", "moved"): "only ours",
        ("silent", None): "nothing measured",
    }  # fmt: skip
    assert lines["ours only", "pause"].reason == "the other side has no such scenario"
    assert lines["same", "moved"].reason == "the other side has the scenario without this measure"
    assert lines["overlap", "pause"].reason == "few runs, and their ranges overlap"
    assert lines["noisy", "pause"].reason == "the medians differ by no more than the runs do"


def test_figures_are_those_of_plain_python(lines: dict[tuple[str, str | None], Row]) -> None:
    ours, theirs = sides()
    for key in ours.keys() & theirs.keys() - {("silent", None)}:
        mine, other = ([median(values) for values in side[key]] for side in (ours, theirs))
        line = lines[key]
        assert (line.runs_ours, line.runs_theirs) == (len(mine), len(other)), key
        assert (line.median_ours, line.median_theirs) == pytest.approx((median(mine), median(other))), key
        assert line.difference == pytest.approx(median(other) - median(mine)), key
        assert (line.min_ours, line.max_theirs) == (min(mine), max(other)), key
    assert lines["single apart", "moved"].ratio == 1.5
    assert lines["zero", "moved"].ratio is None


# -- which runs are the same scenario ----------------------------------------------------------------------------------


def runs_and_rows(spark: SparkSession, names: list[str], begins: dict[str, str]) -> tuple[DataFrame, DataFrame]:
    runs = spark.createDataFrame([(f"r{n}", f"/lake/{name}") for n, name in enumerate(names)], "run string, file string")
    told = [(run, "client", "runner", "begin", fields) for run, fields in begins.items()]
    told.append(("r0", "client", "m1", "begin", '{"scenario": "not the runner"}'))
    return runs, spark.createDataFrame(told, "run string, kind string, client string, what string, fields string")


def test_a_run_is_what_its_journal_says_else_its_file(spark: SparkSession) -> None:
    names = ["a/x.jsonl", "death-seed12.jsonl.gz", "bounce.jsonl", "day_7.jsonl.zst"]
    begin = '{"scenario": "rolling-bounce", "protocol": "range", "client": "aiokafka", "stage": "live"}'
    runs, rows = runs_and_rows(spark, names, {"r2": begin})
    told = dict(sorted((row.run, row.scenario) for row in alignment.scenarios(rows, runs).collect()))
    assert told == {"r0": "x", "r1": "death", "r2": "rolling-bounce/range/aiokafka", "r3": "day"}
    by = dict(sorted((row.run, row.scenario) for row in alignment.scenarios(rows, runs, r"lake/(\w)").collect()))
    assert by == {"r0": "a", "r1": "d", "r2": "b", "r3": "d"}
    with pytest.raises(BadInput, match=r"--by \(: not a regular expression"):
        alignment.scenarios(rows, runs, "(")


# -- the job -----------------------------------------------------------------------------------------------------------


def options(*words: str) -> Namespace:
    parser = ArgumentParser()
    compare.add_arguments(parser)
    return parser.parse_args(words)


def lake(spark: SparkSession, folder: Path, seconds: dict[str, int]) -> str:
    """Write runs named by their file, each with one rebalance of the given duration, and return the lake."""
    place = str(folder)
    runs, rows = runs_and_rows(spark, list(seconds), {})
    shape = "day string, run string, group string, libraries array<string>, started_at bigint, ended_at bigint, ended string"
    measured = [("d", f"r{n}", "g", ["a 1", "b 2"], 0, each * 10**9, "stable") for n, each in enumerate(seconds.values()) if each]
    counted = {"take": F.lit(0).cast("bigint"), "row_count": F.lit(1).cast("bigint"), "digest": F.lit("d"), "day": F.lit("d")}
    parts = {"runs": runs.withColumns(counted), "rows": rows.withColumns({name: counted[name] for name in ("take", "day")})}
    sink.commit(sink.due(spark, tables.place(place, "rows"), sink.NOTHING, 0), sink.parts(parts), {}, {})
    tables.replace(spark.createDataFrame(measured, shape), place, "rebalances")
    return place


def test_the_job_compares_two_lakes(spark: SparkSession, tmp_path: Path) -> None:
    ours = lake(spark, tmp_path / "ours", {"death.jsonl": 10, "bounce.jsonl": 5, "empty.jsonl": 0})
    theirs = lake(spark, tmp_path / "theirs", {"death.jsonl": 11, "scale.jsonl": 7})
    arguments = options("--with", theirs, "--tolerance", "0.2")
    arguments.input, arguments.output = ours, str(tmp_path / "out")
    compare.run(spark, arguments)
    written = tables.read(spark, arguments.output, "compare")
    assert tuple(written.columns) == compare.COLUMNS
    told = {(row.scenario, row.measure): (row.verdict, row.runs_ours, row.median_theirs) for row in written.collect()}
    assert told["death", "rebalance_duration"] == ("agree", 1, 11e9)
    assert told["death", "rebalances_per_run"] == ("agree", 1, 1.0)  # Two libraries took part in this rebalance, but it must count once.
    assert told["bounce", "rebalance_duration"][0] == "only ours" and told["scale", "rebalance_duration"][0] == "only theirs"
    assert told["empty", None][0] == "only ours"
    assert told[None, "rebalance_phases"][0] == "not measured"


def test_the_page_of_compare_has_every_column() -> None:
    assert documented("compare", compare.COLUMNS) == (set(), set())


def test_a_bad_tolerance(spark: SparkSession) -> None:
    with pytest.raises(BadInput, match="a share from 0 on"):
        compare.run(spark, options("--with", "x", "--tolerance", "-1"))
