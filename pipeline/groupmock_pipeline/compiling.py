"""Compile queries that do much with every line: compilation pays for them at smaller inputs than for a whole session (settings.LITTLE,
.MUCH)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from .settings import COMPILED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


ENOUGH: Final = 16 << 20
"""Bytes of JSON from which compilation pays: it costs three seconds and saves one for each 12 MB."""


@contextmanager
def compiled(spark: SparkSession, size: int) -> Iterator[None]:
    """Have Spark compile the queries that start within the block, if they read enough. A stream keeps the settings with which it
    started."""
    if size < ENOUGH:
        yield
        return
    previous = spark.conf.getAll  # `getAll` shows which keys are unset, because these must be unset again afterwards.
    try:
        for key, value in COMPILED.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key in COMPILED:
            if key in previous:
                spark.conf.set(key, previous[key])
            else:
                spark.conf.unset(key)
