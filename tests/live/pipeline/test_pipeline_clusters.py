"""The tables are equal wherever Spark runs: in one process, on a standalone cluster, on Spark Connect, over S3; also with the oldest
PySpark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from benchmarks import spark_events

from groupmock_pipeline import tables

from . import clusters
from .buckets import Bucket
from .environments import CACHE, NEWEST, Environment, environment, oldest
from .lakes import SMALL, TABLES, differing, played

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AWS_SDK: Final = "2.35.4"
"""Version of the AWS SDK that hadoop-aws 3.5.0 requires."""
AWS_PARTS: Final = ("s3-transfer-manager", "sts", "apache-client", "netty-nio-client")
LARGEST_RESULT: Final = 64 * 1024
"""Number of bytes that a task may send to the driver, enough for counts, statistics and file names but not for rows."""


@pytest.fixture(scope="module")
def newest() -> Environment:
    return environment("newest", *NEWEST)


@pytest.fixture(scope="module")
def made_here(newest: Environment, journals: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, spark_events.TaskSums]:
    """Compute the lake with which the others are compared, and return it with Spark's task figures."""
    folder, events = tmp_path_factory.mktemp("here") / "lake", tmp_path_factory.mktemp("events")
    played(newest, str(journals), str(folder), "--master", "local[2]", settings=SMALL | spark_events.settings(events))
    return folder, spark_events.read(events)


@pytest.fixture(scope="module")
def here(made_here: tuple[Path, spark_events.TaskSums]) -> Path:
    return made_here[0]


def check_events(told: spark_events.TaskSums) -> None:
    """Check that no Python worker ran and that no result as large as a table went to the driver."""
    assert told.plans
    assert told.python == []
    assert told.failed == 0
    assert told.largest_result < LARGEST_RESULT


def test_every_table_has_lines_and_no_row_reaches_the_driver(made_here: tuple[Path, spark_events.TaskSums], spark: SparkSession) -> None:
    lake, told = made_here
    counts = {name: tables.read(spark, str(lake), name).count() for name in TABLES}
    assert counts.pop("quarantine") == 0
    assert all(counts.values()), counts
    check_events(told)


def test_a_standalone_cluster(newest: Environment, journals: Path, here: Path, spark: SparkSession, tmp_path: Path) -> None:
    lake, events = tmp_path / "lake", tmp_path / "events"
    events.mkdir()
    with clusters.standalone(newest, tmp_path) as master:
        played(newest, str(journals), str(lake), "--master", master, settings=SMALL | spark_events.settings(events))
    assert differing(spark, here, lake) == {}
    check_events(spark_events.read(events))


def test_spark_connect(newest: Environment, journals: Path, here: Path, spark: SparkSession, tmp_path: Path) -> None:
    lake, events = tmp_path / "lake", tmp_path / "events"
    events.mkdir()
    with clusters.connect(newest, {"spark.driver.memory": "1g"} | spark_events.settings(events)) as remote:
        played(newest, str(journals), str(lake), "--remote", remote, settings={"spark.sql.shuffle.partitions": "2"})
    assert differing(spark, here, lake) == {}
    check_events(spark_events.read(events))


def test_a_spark_that_stays(newest: Environment, journals: Path, here: Path, spark: SparkSession, tmp_path: Path) -> None:
    with clusters.staying(newest) as remote:
        played(newest, str(journals), str(tmp_path / "lake"), "--remote", remote, settings={})
    assert differing(spark, here, tmp_path / "lake") == {}


def test_the_oldest_pyspark(journals: Path, here: Path, spark: SparkSession, tmp_path: Path) -> None:
    old = environment("oldest", *oldest())
    assert f"pyspark=={old.version}".startswith(oldest())
    played(old, str(journals), str(tmp_path / "lake"), "--master", "local[2]")
    assert differing(spark, here, tmp_path / "lake") == {}


def test_journals_lake_and_report_in_s3(newest: Environment, journals: Path, here: Path, spark: SparkSession, tmp_path: Path) -> None:
    with clusters.s3(newest) as endpoint:
        bucket = Bucket(endpoint, "farm")
        bucket.make()
        bucket.upload(journals, "journals")
        words = ("--master", "local[2]", "--report", "s3a://farm/report")
        played(newest, "s3a://farm/journals", "s3a://farm/lake", *words, settings=SMALL | s3a(newest, endpoint))
        bucket.download("lake", tmp_path / "lake")
        assert "report/report.html" in bucket.keys("report")
    assert differing(spark, here, tmp_path / "lake", moved=True) == {}


def s3a(python: Environment, endpoint: str) -> dict[str, str]:
    """Return the settings that Spark needs for `s3a://` (docs/reference/pipeline/lake.md)."""
    (hadoop,) = (jar.stem.removeprefix("hadoop-client-api-") for jar in (python.spark / "jars").glob("hadoop-client-api-*.jar"))
    parts = (f"software.amazon.awssdk:{part}:{AWS_SDK}" for part in AWS_PARTS)
    access = {"endpoint": endpoint, "endpoint.region": "us-east-1", "path.style.access": "true", "access.key": "any", "secret.key": "any"}
    return {
        "spark.jars.packages": ",".join((f"org.apache.hadoop:hadoop-aws:{hadoop}", *parts)),
        "spark.jars.excludes": "software.amazon.awssdk:bundle",
        "spark.jars.ivy": str(CACHE / "ivy"),
        **{f"spark.hadoop.fs.s3a.{key}": value for key, value in access.items()},
    }
