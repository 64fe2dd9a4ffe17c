"""Python workers over Arrow batches, for the jobs that need them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

Work = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


def map_in_arrow(table: DataFrame, work: Work, schema: StructType | str) -> DataFrame:
    """DataFrame.mapInArrow without its demand for pandas, of which nothing is used: PySpark 4.3 makes its function with `pandas_udf`."""
    from pyspark.sql.classic.dataframe import DataFrame as Classic
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.util import PythonEvalType

    function = UserDefinedFunction(work, schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    column: Any = function(*(table[name] for name in table.columns))
    return cast("DataFrame", Classic(cast("Any", table)._jdf.mapInArrow(column._jc, False, None), table.sparkSession))
