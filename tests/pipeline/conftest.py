"""All tests of the folder share one Spark session in one pytest-xdist worker."""

from __future__ import annotations

from spark_quick import pytest_collection_modifyitems, spark

__all__ = ["pytest_collection_modifyitems", "spark"]
