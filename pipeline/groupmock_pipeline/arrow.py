"""Run Python workers over Arrow batches, for the jobs that need them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from .errors import lacks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

Work = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


def map_in_arrow(table: DataFrame, work: Work, schema: StructType | str) -> DataFrame:
    """Call DataFrame.mapInArrow, which demands pandas although it does not use pandas (PySpark 4.1 and 4.3). Raises SparkCannotStart."""
    if find_spec("pandas") is None:
        raise lacks("pandas")
    return table.mapInArrow(work, schema)
