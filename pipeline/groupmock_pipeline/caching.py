"""What is computed once and asked more than once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@contextmanager
def cached(frame: DataFrame) -> Iterator[DataFrame]:
    """It is cached from the first question on, and given up at the end: as long as a session has it, Spark looks through its whole plan
    with each later query (CacheManager.useCachedData), and a session that follows journals asks for days."""
    frame.persist()
    try:
        yield frame
    finally:
        frame.unpersist()
