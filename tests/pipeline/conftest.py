"""One Spark session for the folder, in one worker: a second JVM would cost more than it brings."""

from __future__ import annotations

import pytest
from spark_quick import spark

__all__ = ["spark"]


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups, also when this folder alone is tested
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(__file__.rpartition("/")[0]):
            item.add_marker(pytest.mark.xdist_group("spark"))
