"""A small DataFrame of known values is built without a Python worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_pipeline.literal_frame import literal_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "name string, share double, errors map<string, bigint>"


def test_few_lines_are_there_without_a_python_worker(spark: SparkSession) -> None:
    found = literal_frame(spark, [{"name": "it's", "share": 0.5, "errors": {"X": 1}}, {"name": "b"}], COLUMNS)
    assert [tuple(row) for row in found.collect()] == [("it's", 0.5, {"X": 1}), ("b", None, None)]
    assert literal_frame(spark, [], COLUMNS).collect() == []
    plan = found._jdf.queryExecution().toString()
    assert "ExistingRDD" not in plan and "Python" not in plan
