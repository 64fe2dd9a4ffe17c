"""Cache a DataFrame that is queried more than once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark.sql import is_remote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@contextmanager
def cached(frame: DataFrame) -> Iterator[DataFrame]:
    """Cache a frame from the first query on, and release it at the end of the block. While a session caches a frame, Spark searches its
    whole plan with each later query (CacheManager.useCachedData), and a session that follows journals runs for days."""
    with _named(frame) if is_remote() else nullcontext(frame) as kept:
        kept.persist()
        try:
            yield kept
        finally:
            kept.unpersist()


@contextmanager
def _named(frame: DataFrame) -> Iterator[DataFrame]:
    """Give the frame a name in Spark's catalogue, so that a Spark Connect server analyses it only once. A DataFrame of Spark Connect is
    its whole plan, which each question sends and has analysed again, even the question for its columns."""
    name, spark = f"groupmock_{uuid4().hex}", frame.sparkSession
    frame.createTempView(name)
    try:
        yield spark.table(name)
    finally:
        spark.catalog.dropTempView(name)
