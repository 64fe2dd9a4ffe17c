"""Ask Spark's analyzer whether a query is valid, without reading data."""

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
"""True while this thread asks Spark's analyzer whether a query is valid. Other threads may ask or fail at the same time, and their
errors are logged."""


def _is_news(_: LogRecord) -> bool:
    return not _ASKING.get()


def analysed(ask: Callable[[], DataFrame]) -> DataFrame | None:
    """Return the DataFrame of a query, or None if Spark's analyzer does not know a name in the query. PySpark's error log, with Java's
    stack, is suppressed meanwhile."""
    for kind in ("SQL", "DataFrame"):
        PySparkLogger.getLogger(f"{kind}QueryContextLogger").addFilter(_is_news)
    before = _ASKING.set(True)
    try:
        frame = ask()
        _ = frame.schema  # Spark Connect analyses the query only when its schema is asked for.
    except AnalysisException:
        return None
    else:
        return frame
    finally:
        _ASKING.reset(before)
