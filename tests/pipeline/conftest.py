"""One Spark session for the folder, in one worker: a second JVM would cost more than it brings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from spark_quick import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(__file__.rpartition("/")[0]):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from groupmock_pipeline.session import session

    folder = tmp_path_factory.mktemp("spark")
    made = session("tests", "local[2]", SETTINGS | {"spark.sql.warehouse.dir": str(folder / "warehouse"), "spark.local.dir": str(folder)})
    yield made
    made.stop()
