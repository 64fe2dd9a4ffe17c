"""What is computed once and asked more than once."""

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
    """What it yields is cached from the first question on, and given up at the end: as long as a session has it, Spark looks through its
    whole plan with each later query (CacheManager.useCachedData), and a session that follows journals asks for days."""
    with _named(frame) if is_remote() else nullcontext(frame) as kept:
        kept.persist()
        try:
            yield kept
        finally:
            kept.unpersist()


@contextmanager
def _named(frame: DataFrame) -> Iterator[DataFrame]:
    """By a name, under which a Spark Connect server has it analysed. A DataFrame of Spark Connect is its whole plan, which each question
    about it, that after its columns too, sends and has analysed anew."""
    name, spark = f"groupmock_{uuid4().hex}", frame.sparkSession
    frame.createTempView(name)
    try:
        yield spark.table(name)
    finally:
        spark.catalog.dropTempView(name)
