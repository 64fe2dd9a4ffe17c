"""A Spark session for small frames, for which compiling expressions and re-planning between stages would take longer than the work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS: Final = {"spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2", "spark.driver.memory": "1g"}
LITTLE: Final = 0
"""Bytes of input that tests report for jobs with hardly any input, because groupmock_pipeline.settings chooses settings by size."""


@pytest.hookimpl(tryfirst=True)  # The xdist_group marks must exist before pytest-xdist looks for groups, even if a single folder is tested.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all Spark tests in one worker, because a second JVM would cost more than it saves."""
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
    """Return the largest share of Java's code cache that was ever used. It has one pool or several, by Java's settings."""
    assert spark._jvm is not None
    pools = spark._jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    peaks = [pool.getPeakUsage() for pool in pools if "Code" in pool.getName()]
    return float(sum(peak.getUsed() for peak in peaks) / sum(peak.getMax() for peak in peaks))
