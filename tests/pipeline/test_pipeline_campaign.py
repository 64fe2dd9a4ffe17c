"""A campaign gives the same lines however Spark distributes it, skips plays that the lake already has, and records a failed play."""

from __future__ import annotations

import statistics
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from groupmock_clients.scenarios.measure import Figures
from groupmock_clients.scenarios.results import Job, ScenarioResult, jobs, run_one
from groupmock_pipeline import tables
from groupmock_pipeline.campaign import table_row
from groupmock_pipeline.campaign.campaign_plan import Stretch, read_plan, stretches
from groupmock_pipeline.campaign.characteristics import characteristics
from groupmock_pipeline.campaign.scenario_sizes import SIZES
from groupmock_pipeline.campaign.sweep import ORDINAL, left, played, plays
from groupmock_pipeline.errors import BadInput
from groupmock_pipeline.jobs import campaign

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FLAGS = {
    "scenarios": ["scale-up", "new-subscription"],
    "protocols": ["range", "design-2/scripted"],
    "sizes": {"members": [3], "partitions": [4], "rate": [1]},
    "batch": 2,
}
Line = dict[str, Any]


def wanted(seeds: str, **more: Any) -> list[Stretch]:
    return stretches(read_plan("-", {**FLAGS, "seeds": seeds, **more}), "-")


def lines(table: DataFrame) -> list[Line]:
    found = [row.asDict(recursive=True) for row in table.collect()]
    return sorted(found, key=lambda each: (each["cell"], each["seed"]))


def by_hand(stretch: Stretch, seed: int) -> ScenarioResult:
    """Play one scenario in this process without Spark."""
    cell = stretch.cell
    (job,) = jobs("virtual", replace(cell.sizes, seed=seed), [cell.scenario.name], [str(cell.protocol)])
    return run_one(job)


def test_the_same_lines_whatever_the_parallelism(spark: SparkSession) -> None:
    plan = wanted("1..3")
    todo = left(plays(spark, plan, 2), None)
    one, three = lines(played(todo, 1)), lines(played(todo, 3))
    assert one == three
    assert [(each["cell"], each["seed"]) for each in one] == sorted((each.cell.key, seed) for each in plan for seed in (1, 2, 3))
    for stretch in plan:
        for seed in (1, 3):
            (line,) = (each for each in one if (each["cell"], each["seed"]) == (stretch.cell.key, seed))
            result = by_hand(stretch, seed)
            assert {name: line[name] for name in table_row.FIGURES} == result.figures
            assert (line["trouble"], line["broken"]) == (result.trouble, result.broken)
            assert {name: line[name] for name in SIZES} == {name: getattr(stretch.cell.sizes, name) for name in SIZES}


def test_every_batch_is_a_task_of_its_own(spark: SparkSession) -> None:
    todo = left(plays(spark, wanted("1..5"), 2), None)
    spread = todo.repartitionById(12, (F.col(ORDINAL) % 12).cast("int")).withColumn("task", F.spark_partition_id())
    found = spread.groupBy("cell", "batch").agg(F.collect_set("task").alias("tasks"), F.count("*").alias("plays")).collect()
    assert sorted(row["tasks"] for row in found) == [[task] for task in range(12)]
    assert sorted(row["plays"] for row in found) == [1] * 4 + [2] * 8


def test_left_is_what_the_lake_has_not_under_names_that_it_has_not(spark: SparkSession) -> None:
    (plan,) = wanted("1..9", scenarios=["scale-up"], protocols=["range"], batch=4)
    key = plan.cell.key
    done = spark.createDataFrame([(key, seed) for seed in (1, 2, 5, 6, 7, 8)] + [("another", 3)], "cell string, seed long")
    found = left(plays(spark, [plan], 4), done).select("batch", "seed", ORDINAL).collect()
    assert sorted((row["seed"], row["batch"], row[ORDINAL]) for row in found) == [(3, "3", 0), (4, "3", 0), (9, "9", 2)]


def parsed(*words: str) -> Namespace:
    parser = ArgumentParser()
    parser.add_argument("input")
    parser.add_argument("output")
    campaign.add_arguments(parser)
    return parser.parse_args(words)


def files(lake: Path) -> dict[str, int]:
    """Return the campaign's data files with their modification times."""
    return {str(each.relative_to(lake)): each.stat().st_mtime_ns for each in lake.glob("campaign/_edition=0/*/_part=lines/part-*")}


def test_a_lake_grows_by_what_it_has_not(spark: SparkSession, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    flags = {**FLAGS, "scenarios": ["new-subscription"], "protocols": ["range"]}
    plan = read_plan("-", {**flags, "seeds": "1..3"})
    campaign.play(spark, plan, stretches(plan, "-"), str(lake), wave=2)
    before = files(lake)
    assert before
    campaign.play(spark, plan, stretches(plan, "-"), str(lake), wave=2)
    assert files(lake) == before
    words = ["--scenario", "new-subscription", "--protocol", "range", "--size", "members=3", "--size", "partitions=4", "--size", "rate=1"]
    campaign.run(spark, parsed("-", str(lake), *words, "--seeds", "1..4", "--batch", "2", "--json", str(tmp_path / "all.json")))
    assert files(lake).items() > before.items()
    table = tables.read(spark, str(lake), "campaign").toArrow()
    assert sorted(table["seed"].to_pylist()) == [1, 2, 3, 4]
    (summary,) = msgspec.json.decode((tmp_path / "all.json").read_bytes())
    assert (summary["plays"], summary["failed"], summary["rebalances"]) == (4, 0, sum(table["generations"].to_pylist()))
    assert [row["plays"] for row in tables.read(spark, str(lake), "characteristics").collect()] == [4]


def test_a_play_that_fails_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test runs the code of Spark's workers: one seed raises, one misses its group, one succeeds."""

    def run(job: Job) -> ScenarioResult:
        if job.sizes.seed == 2:
            raise ZeroDivisionError("by nothing")
        missed = "missed: after 9 virtual ms" if job.sizes.seed == 3 else None
        figures = None if missed else {"rounds": 1}
        return ScenarioResult(scenario="scale-up", protocol="range", client="scripted", trouble=missed, figures=figures)

    monkeypatch.setattr(table_row, "run_one", run)
    (plan,) = wanted("1..3", scenarios=["scale-up"], protocols=["range"])
    sizes = {name: getattr(plan.cell.sizes, name) for name in SIZES}
    names = {"cell": "c", "batch": "1", "product": "p", "scenario": "scale-up", "protocol": "range", "client": "scripted"}
    asked = pa.RecordBatch.from_pylist([{**names, **sizes, "seed": seed} for seed in (1, 2, 3)])
    (answered,) = table_row.play_all(iter([asked]))
    found = answered.to_pylist()
    assert [each["rounds"] for each in found] == [1, None, None]
    assert found[0]["trouble"] is None
    assert found[1]["trouble"].startswith("error: ZeroDivisionError: by nothing (test_pipeline_campaign.py:")
    assert found[2]["trouble"] == "missed: after 9 virtual ms"


def test_columns_are_the_fields_of_the_scenarios_own_classes() -> None:
    assert set(table_row.OUTCOME.names) == {*Figures.__dataclass_fields__, "trouble", "broken"}
    types = {field.name: field.dataType.simpleString() for field in table_row.RECORD.fields}
    assert (types["moved"], types["unowned_s"], types["broken"], types["rate"]) == ("bigint", "double", "array<string>", "double")


def test_characteristics(spark: SparkSession) -> None:
    """The quantiles agree with those of Python's statistics module."""
    moved = [5, 1, 4, 2, 8, 3]
    same = {"product": "p", "scenario": "s", "protocol": "r", "client": "c", **dict.fromkeys(SIZES, 1), "rate": 1.0}
    well = [{**same, "seed": seed, "generations": 2, "moved": value, "broken": []} for seed, value in enumerate(moved, 1)]
    well[0]["broken"] = ["I1 at 5 ms: x", "I2 at 6 ms: y"]
    failed = {**same, "seed": 9, "trouble": "missed: x", "broken": []}
    alone = {**failed, "protocol": "z"}
    table = spark.createDataFrame([{**dict.fromkeys(table_row.RECORD.names), **each} for each in (*well, failed, alone)], table_row.RECORD)
    found = {row["protocol"]: row.asDict() for row in characteristics(table).collect()}
    line = found["r"]
    assert [line[name] for name in ("plays", "failed", "broken", "rebalances", "first_seed", "last_seed")] == [7, 1, 1, 12, 1, 9]
    hundredths = statistics.quantiles(moved, n=100, method="inclusive")
    assert line["moved_median"] == statistics.median(moved) == hundredths[49]
    assert line["moved_p99"] == pytest.approx(hundredths[98])
    assert (line["moved_min"], line["moved_max"], line["lost_max"]) == (1, 8, None)
    assert (found["z"]["plays"], found["z"]["failed"], found["z"]["rebalances"], found["z"]["moved_median"]) == (1, 1, 0, None)


@pytest.mark.parametrize(
    ("words", "said"), [(["--wave", "0"], "--wave 0: at least 1"), (["--json", "no/file"], "--json no/file: there is no such folder")]
)
def test_a_wrong_option_is_refused_before_anything_is_played(words: list[str], said: str, spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=said):
        campaign.run(spark, parsed("-", str(tmp_path / "lake"), "--seeds", "1", *words))
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize(("words", "said"), [(["--size", "members"], "--size members"), (["--size", "members=a"], "NAME=N")])
def test_a_wrong_flag_is_refused(words: list[str], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        campaign.flags(parsed("-", "out", *words))
