"""Few lines that are known beforehand, as a DataFrame. `createDataFrame` of a list would start Python workers for them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def few(spark: SparkSession, lines: Sequence[Mapping[str, Any]], columns: str | StructType) -> DataFrame:
    """Lines of `columns` (DDL, or a schema); what a line does not have is null."""
    shape = StructType.fromDDL(columns) if isinstance(columns, str) else columns
    return spark.range(1).select(F.inline(F.from_json(F.lit(json.dumps(lines)), ArrayType(shape))))
