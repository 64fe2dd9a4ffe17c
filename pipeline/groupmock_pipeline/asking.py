"""Questions to Spark's analysis, which reads nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def analysed(ask: Callable[[], DataFrame]) -> DataFrame | None:
    """None: Spark does not know what it is asked. PySpark logs that as an error with all of Java's stack; here it is a question."""
    loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.CRITICAL)
    try:
        return ask()
    except AnalysisException:
        return None
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
