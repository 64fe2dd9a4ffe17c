"""A Spark for small frames: compiling expressions or re-planning between stages costs more than such frames take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS: Final = {"spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2", "spark.driver.memory": "1g"}
LITTLE: Final = 0
"""Bytes to read, as a job is told that has hardly any: groupmock_pipeline.settings knows what suits that."""


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups, also when a folder alone is tested
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever takes Spark runs in one worker: a second JVM would cost more than it brings."""
    for item in items:
        if item.path.parent.name == "pipeline":
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from groupmock_pipeline.session import session

    folder = tmp_path_factory.mktemp("spark")
    places = {"spark.sql.warehouse.dir": str(folder / "warehouse"), "spark.local.dir": str(folder)}
    made = session("tests", "local[2]", SETTINGS | places, LITTLE)
    yield made
    filled = code_filled(made)
    made.stop()
    assert filled < 0.8, f"{filled:.0%} of what Java keeps for compiled code: when that is full, Spark ends itself sooner or later"


def code_filled(spark: SparkSession) -> float:
    """The most of it that was ever taken, as a share. It is in one pool or in several, by Java's settings."""
    assert spark._jvm is not None
    pools = spark._jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    peaks = [pool.getPeakUsage() for pool in pools if "Code" in pool.getName()]
    return float(sum(peak.getUsed() for peak in peaks) / sum(peak.getMax() for peak in peaks))
