"""One Spark session for the folder, in one worker."""

from __future__ import annotations

from spark_quick import pytest_collection_modifyitems, spark

__all__ = ["pytest_collection_modifyitems", "spark"]
