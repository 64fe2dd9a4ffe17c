"""Make a DataFrame of a few known lines. `createDataFrame` would start Python workers for a list."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def literal_frame(spark: SparkSession, lines: Sequence[Mapping[str, Any]], columns: str | StructType) -> DataFrame:
    """Make a frame with the given `columns` (DDL or a schema). A value that a line lacks is null."""
    shape = StructType.fromDDL(columns) if isinstance(columns, str) else columns
    return spark.range(1).select(F.inline(F.from_json(F.lit(json.dumps(lines)), ArrayType(shape))))
