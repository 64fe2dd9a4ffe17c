"""Questions to Spark's analysis, which reads nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger

if TYPE_CHECKING:
    from logging import LogRecord

    from pyspark.sql import DataFrame

_ASKING: Final = ContextVar("asking", default=False)
"""Of this thread: others may ask, or fail, at the same time."""


def _is_news(_: LogRecord) -> bool:
    return not _ASKING.get()


def analysed(ask: Callable[[], DataFrame]) -> DataFrame | None:
    """None: Spark does not know what it is asked. PySpark logs that as an error with all of Java's stack; here it is a question."""
    for kind in ("SQL", "DataFrame"):
        PySparkLogger.getLogger(f"{kind}QueryContextLogger").addFilter(_is_news)
    before = _ASKING.set(True)
    try:
        told = ask()
        _ = told.schema  # a session of Spark Connect analyses no sooner
    except AnalysisException:
        return None
    else:
        return told
    finally:
        _ASKING.reset(before)
