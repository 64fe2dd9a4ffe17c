"""List the plays of a campaign that the lake lacks, as a DataFrame, and play them. No play reaches the driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql.window import Window

from ..arrow import Work, map_in_arrow
from .campaign_plan import Stretch
from .scenario_sizes import SIZES
from .table_row import PLAY, RECORD, STRETCH, play_all

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

ORDINAL = "ordinal"
"""The column with the number of a batch of plays, counted over the whole campaign. Numbers of batches that the lake has are left out."""


def plays(spark: SparkSession, wanted: Sequence[Stretch], batch: int) -> DataFrame:
    """Return one line per play, with the columns of PLAY except `batch`, and the ordinal of its batch of `batch` seeds."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    return seeded(spark, pa.Table.from_pylist([_line(each) for each in wanted], schema=to_arrow_schema(STRETCH)), batch)


def seeded(spark: SparkSession, table: pa.Table, batch: int) -> DataFrame:
    """Expand lines with `first`, `last` and `offset` to one line per seed."""
    seeds = F.sequence("first", "last")
    block = F.floor((F.col("seed") - F.col("first")) / batch)
    listed = spark.createDataFrame(table).withColumn("seed", F.explode(seeds))
    return listed.withColumn(ORDINAL, F.col("offset") + block).drop("first", "last", "offset")


def _line(stretch: Stretch) -> dict[str, Any]:
    cell = stretch.cell
    sizes = {name: getattr(cell.sizes, name) for name in SIZES}
    names = {"cell": cell.key, "product": cell.product, "scenario": cell.scenario.name, "protocol": cell.protocol.name}
    return {**names, "client": cell.protocol.client, **sizes, "first": stretch.first, "last": stretch.last, "offset": stretch.offset}


def left(wanted: DataFrame, done: DataFrame | None, play: StructType = PLAY) -> DataFrame:
    """Keep the plays that the lake lacks, and name each batch in column `batch` after its smallest remaining seed, a name that no batch in
    the lake has.

    `play` is the schema of a play.
    """
    if done is not None:
        wanted = wanted.join(done.select("cell", "seed"), ["cell", "seed"], "left_anti")
    smallest = F.min("seed").over(Window.partitionBy(ORDINAL))
    return wanted.withColumn("batch", smallest.cast("string")).select(*play.names, ORDINAL)


def played(todo: DataFrame, tasks: int, work: Work = play_all, record: StructType = RECORD) -> DataFrame:
    """Play every line and return columns of `record`. Each of the `tasks` tasks plays the batches whose ordinal it has; `work` plays a
    line."""
    columns = [name for name in todo.columns if name != ORDINAL]
    spread = todo.repartitionById(tasks, (F.col(ORDINAL) % tasks).cast("int")).select(*columns)
    return map_in_arrow(spread, work, record)
