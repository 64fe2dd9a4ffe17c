"""A query that does much with every line: to compile it pays sooner than to compile all that a session asks (settings.LITTLE, .MUCH)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from .settings import COMPILED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


ENOUGH: Final = 16 << 20
"""Bytes of JSON: to compile what reads them takes three seconds, and saves one for each 12 MB."""


@contextmanager
def compiled(spark: SparkSession, size: int) -> Iterator[None]:
    """What is started while this lasts is compiled, if it reads enough. A stream takes the settings that it is started with."""
    if size < ENOUGH:
        yield
        return
    told = spark.conf.getAll  # what was never said has no value to come back to
    try:
        for key, value in COMPILED.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key in COMPILED:
            if key in told:
                spark.conf.set(key, told[key])
            else:
                spark.conf.unset(key)
