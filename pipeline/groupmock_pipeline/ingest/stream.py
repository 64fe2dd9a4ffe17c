"""Ingest as Structured Streaming: the checkpoint knows which paths were seen, the ledger which were read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from .. import tables
from ..errors import BadInput
from .batch import BatchOutcome, ingest
from .files import OPTIONS, check, described, listed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

COLUMNS = "path string, modificationTime timestamp, length bigint, content binary"
"""Of Spark's binaryFile; `content` is never asked for, hence never read."""

Told = Callable[[BatchOutcome], None]


def started(spark: SparkSession, place: str, lake: str, checkpoint: str, limit: int, follow: float | None, told: Told) -> StreamingQuery:
    """Everything that is there, then (`follow`: seconds between looks) what arrives; `told` hears of every batch. Raises BadInput."""
    if not check(spark, place).is_folder("") and not any(sign in place for sign in "*?[{"):
        raise BadInput(f"{place}: --stream watches a folder or a glob, which this is not")
    source = spark.readStream.format("binaryFile").options(**OPTIONS).schema(COLUMNS).load(place)

    def work(batch: DataFrame, _: int) -> None:
        told(ingest(current(batch, place, lake), lake, limit))

    writer = described(source).writeStream.foreachBatch(work).option("checkpointLocation", checkpoint)
    return (writer.trigger(availableNow=True) if follow is None else writer.trigger(processingTime=f"{follow} seconds")).start()


def current(batch: DataFrame, place: str, lake: str) -> DataFrame:
    """A batch's files as they are now, and journals that were read before they ended: a stream sees a path once, and journals grow."""
    spark = batch.sparkSession
    wanted = batch.select("file")
    if tables.exists(spark, lake, "runs"):
        wanted = wanted.union(tables.read(spark, lake, "runs").where(~F.col("ended")).select("file"))
    return listed(spark, place).join(wanted.distinct(), "file", "left_semi")
