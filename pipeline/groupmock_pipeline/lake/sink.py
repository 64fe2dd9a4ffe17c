"""A table of a lake: one file sink of Structured Streaming, whose log says what the table has.

Theory. A table is a folder: Parquet files by edition, batch, part and (where it has days) day; `_spark_metadata`, the sink's log; and
`_checkpoint`, the log of the query that fills it. A *commit* is one micro-batch of that query: Spark writes the files, then one entry of
the log, which is there whole or not at all. Readers read what the log names, so they see the table before a commit or after it, whoever
is killed when. Nothing is ever changed in place.

The query's source counts: its micro-batch N is the one row N (`rate-micro-batch`). The frame that is to be committed is the static side of
a join with that row, on the number that its writer expects: the last one that it saw, and one. (The source stands twice in every query, at
the lines and at the mark: a checkpoint holds a table to their number.) So a commit compares and swaps: who planned
with an older table writes an empty batch; of two that write the same batch at once Spark's log takes one, and the other's query fails. A
batch that was killed is played again by the next writer, with the next writer's frame: nothing of the killed one is in the log.

*Parts* are frames of different columns that belong to one commit: rows and what is broken. Each commit has a mark besides, with the columns
of its parts as JSON. An *edition* replaces all before it (a table made anew, or compacted): readers take the highest. What an overtaken
writer leaves has edition -1, and is in none.

Spark's side of it: https://spark.apache.org/docs/latest/streaming/structured-streaming-programming-guide.html (file sink, availableNow).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote
from uuid import uuid4

from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from ..errors import Overtaken
from ..few_lines import few

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

EDITION: Final = "_edition"
BATCH: Final = "_batch"
PART: Final = "_part"
DAY: Final = "day"
PLACE: Final = StructType([StructField(EDITION, IntegerType()), StructField(BATCH, LongType()), StructField(PART, StringType())])
"""Where a line of any table is; folders, not columns of its files."""
MARK: Final = "commit"
"""The part that every commit has: one line with `TOLD`."""
TOLD: Final = "_told"
NOWHERE: Final = -1
"""The edition of what an overtaken writer leaves."""
_DUE: Final = "_due"
ANY: Final = -1
"""The batch that a line is for; a mark is for any."""
OBSERVED, WRITTEN = "commit", "_written"
Counts = dict[str, int]
RACES: Final = (
    "Race while writing batch",
    "CONCURRENT_STREAM_LOG_UPDATE",
    "Concurrent update to the log",
    "Multiple streaming queries are concurrently using",
)
"""What Spark says to the slower one of two that write a batch at once; the last where both rename a file of a log at the very same time."""
FILE_BYTES: Final = 128 << 20
"""Of a compacted table's files, about."""
ORDER: Final = (DAY, "run", "line")
"""By what a compacted table is clustered."""
REPLACING: Final = re.compile(r"(s3a?|gs|wasbs?|abfss?|oss)://", re.IGNORECASE)
"""Stores on which a rename may replace what is there: of two that write a batch at the very same time, both may think that they were first.
There the table is asked once more whose the batch is."""


class Head(NamedTuple):
    """How far a table is: its edition, and the number of its last batch."""

    edition: int
    batch: int
    batches: Mapping[str, tuple[int, ...]]
    """Part -> numbers of the edition's batches that have it."""
    files: int = 0
    """How many the edition has."""
    moved: Mapping[str, tuple[str, ...]] | None = None
    """Part -> files of the edition. Of a table that is where all of it was made: None, Spark's log names them."""


NOTHING: Final = Head(0, -1, {})
"""The head of a table that is not there."""
PLACED: Final = re.compile(rf"/({EDITION}=(-?\d+)/{BATCH}=(\d+)/{PART}=(\w+)/.*)")


def head(spark: SparkSession, path: str) -> Head:
    """Read off the names of the files that the log has: none of them is opened."""
    try:
        # Of files with roots of their own, as a lake has that was moved, Spark would not make one table: it is not to look for folders.
        names = spark.read.schema(PLACE).option("recursiveFileLookup", "true").parquet(path).inputFiles()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return NOTHING
        raise
    placed = [(int(found[2]), int(found[3]), found[4], found[1], name) for name in names if (found := PLACED.search(name))]
    if not placed:
        return NOTHING
    edition = max(0, *(at for at, *_ in placed))
    mine = [each for each in placed if each[0] == edition]
    parts = sorted({part for _, _, part, _, _ in mine})
    batches = {part: tuple(sorted({batch for _, batch, of, _, _ in mine if of == part})) for part in parts}
    files = {part: tuple(unquote(f"{path}/{below}") for _, _, of, below, _ in mine if of == part) for part in parts}
    roots = {name.removesuffix(below) for *_, below, name in placed}
    moved = bool(mine) and (len(roots) > 1 or _now(spark, path, mine[0][3]) != mine[0][4])
    return Head(edition, max(batch for _, batch, *_ in placed), batches, len(mine), files if moved else None)


def _now(spark: SparkSession, path: str, below: str) -> str:
    """What Spark calls a file of the table today. Its log has names as they were when the table was made, and a lake may be moved."""
    found = spark.read.schema(PLACE).parquet(unquote(f"{path}/{below}")).inputFiles()
    return found[0] if found else ""


def read(spark: SparkSession, path: str, part: str, columns: StructType, at: Head) -> DataFrame:
    """The lines of a part in an edition: these columns (null: they had none) and `PLACE`."""
    reader = spark.read.schema(StructType([*columns.fields, *PLACE.fields]))
    if at.moved is None:
        return reader.parquet(path).where(f"{EDITION} = {at.edition} and {PART} = '{part}'")
    files = at.moved.get(part)
    found = reader.option("basePath", path).parquet(*(files or at.moved[MARK]))  # each commit has a mark: there are columns without a line
    return found if files else found.where(F.lit(False))


def columns(spark: SparkSession, path: str, part: str, at: Head) -> StructType:
    """What the last commit said of a part's columns."""
    told = read(spark, path, MARK, StructType([StructField(TOLD, StringType())]), at).where(f"{BATCH} = {at.batches[MARK][-1]}")
    row = told.select(TOLD).first()
    said = {} if row is None else json.loads(row[TOLD])
    assert part in said, f"{path}: the last commit has no part {part!r}"
    return StructType.fromJson(json.loads(said[part]))


def parts(frames: Mapping[str, DataFrame]) -> DataFrame:
    """Frames as one, each with the name of its part."""
    named = [frame.withColumn(PART, F.lit(part)) for part, frame in frames.items()]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), named)


class Due(NamedTuple):
    """A batch that is to be written, and the stream of numbers that comes to it."""

    path: str
    number: int
    edition: int
    numbers: DataFrame
    """(BATCH, DUE) of each micro-batch: once for the lines that are for it, once for the mark."""

    def joined(self, frame: DataFrame) -> DataFrame:
        """A frame with `EDITION` and `BATCH`: all of it in the batch with that number, nothing in any other."""
        return self._with_number(frame.withColumn(_DUE, F.lit(self.number).cast("bigint")))

    def mark(self, said: str, by_day: bool) -> DataFrame:
        """The line that each batch has, whatever its number."""
        made = {TOLD: F.lit(said), PART: F.lit(MARK), _DUE: F.lit(ANY).cast("bigint"), **({DAY: F.lit("")} if by_day else {})}
        return self._with_number(self.numbers.sparkSession.range(1).select(*(value.alias(name) for name, value in made.items())))

    def _with_number(self, frame: DataFrame) -> DataFrame:
        edition = F.when(F.col(BATCH) == self.number, F.lit(self.edition)).otherwise(NOWHERE)
        return frame.join(F.broadcast(self.numbers), _DUE).drop(_DUE).withColumn(EDITION, edition)


def due(spark: SparkSession, path: str, at: Head, edition: int) -> Due:
    """The batch after `at`; `edition`: that of `at`, or the next one, which replaces it."""
    counter = spark.readStream.format("rate-micro-batch").options(rowsPerBatch=1, numPartitions=1).load()
    numbers = counter.select(F.col("value").alias(BATCH), F.explode(F.array("value", F.lit(ANY).cast("bigint"))).alias(_DUE))
    return Due(path, at.batch + 1, edition, numbers)


def has_grown(at: Head, due: Due) -> bool:
    """Is anything in the table since that batch was planned? Batches of overtaken writers have nothing."""
    return at.edition != due.edition or any(batches[-1] >= due.number for batches in at.batches.values())


def commit(due: Due, lines: DataFrame, counted: Mapping[str, Column], told: Mapping[str, StructType]) -> Counts:
    """Write lines (with `PART`) as that batch. Either they are made of what was joined with it, or they are joined here: the fewer and the
    narrower what is joined, the cheaper.

    Returns the sums of `counted`, conditions on lines. `told`: the columns of parts, for `columns`. Raises Overtaken when somebody else has
    written it: then nothing of this is in the table."""
    spark, token = lines.sparkSession, uuid4().hex
    mine = F.col(BATCH) == due.number
    sums = [F.sum((mine & each).cast("bigint")).alias(name) for name, each in counted.items()]
    by_day = DAY in lines.columns
    mark = due.mark(json.dumps({"token": token, **{part: columns.json() for part, columns in told.items()}}), by_day)
    placed = (lines if BATCH in lines.columns else due.joined(lines)).unionByName(mark, allowMissingColumns=True)
    query = (
        placed.observe(OBSERVED, F.sum(mine.cast("bigint")).alias(WRITTEN), *sums)  # `count_if` would copy each line once more
        .writeStream.format("parquet")
        .options(path=due.path, checkpointLocation=f"{due.path}/_checkpoint", compression="zstd")
        .partitionBy(EDITION, BATCH, PART, *([DAY] if by_day else []))
        .trigger(availableNow=True)
        .start()
    )
    raced = _raced(query)
    seen = next((each for each in _told_by(query, due.number) if each.get(WRITTEN)), None)
    if seen is None or raced or REPLACING.match(due.path):
        now = head(spark, due.path)
        seen = _read_again(spark, due.path, now._replace(edition=due.edition, batch=due.number), token, sums)
    if seen is None:
        raise Overtaken(due.path)
    return {name: seen[name] or 0 for name in counted}


def _raced(query: StreamingQuery) -> bool:
    """Wait for its end. Was somebody else at the same batch? Whose it is, the sink's log knows."""
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        if not any(race in str(error) for race in RACES):
            raise
        return True
    finally:
        query.stop()
    return False


def _told_by(query: StreamingQuery, batch: int) -> Iterator[Counts]:
    """What `observe` saw of a batch; nothing, if the log had it already. Spark Connect tells it as a Row of its `values` and `schema`."""
    for progress in query.recentProgress:
        told = progress["observedMetrics"].get(OBSERVED) if progress["batchId"] == batch else None
        if told is not None:
            seen = told.asDict()
            if "schema" in seen:
                seen = dict(zip((each["name"] for each in seen["schema"]["fields"]), seen["values"], strict=True))
            yield seen


def _read_again(spark: SparkSession, path: str, at: Head, token: str, sums: Sequence[Column]) -> Counts | None:
    """The figures of a commit off the table itself; None: its batch is somebody else's."""
    mine = F.col(BATCH) == at.batch
    marks = read(spark, path, MARK, StructType([StructField(TOLD, StringType())]), at)
    if marks.where(mine & (F.get_json_object(TOLD, "$.token") == token)).isEmpty():
        return None
    files = None if at.moved is None else [file for files in at.moved.values() for file in files]
    lines = spark.read.schema(PLACE).option("basePath", path).parquet(*(files or [path]))
    row = lines.where((F.col(EDITION) == at.edition) & mine).agg(F.count("*").alias(WRITTEN), *sums).first()
    assert row is not None
    return row.asDict()


def gathered(path: str, part: str, lines: DataFrame, at: Head) -> DataFrame:
    """Lines in as many tasks as their files of today are worth of `FILE_BYTES`, and by day and run where they have them."""
    tasks = max(1, round(_bytes(lines.sparkSession, path, part, at) / FILE_BYTES))
    order = [name for name in ORDER if name in lines.columns]
    return lines.repartitionByRange(tasks, *order).sortWithinPartitions(*order) if order else lines.coalesce(tasks)


def _bytes(spark: SparkSession, path: str, part: str, at: Head) -> int:
    """Of a part's files; 0 where an edition has no such part, and so no folder that Spark could list."""
    if part not in at.batches:
        return 0
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")  # not as one partitioned table: it is none
    size = reader.load(f"{path}/{EDITION}={at.edition}/{BATCH}=*/{PART}={part}").agg(F.sum("length")).first()
    return 0 if size is None else size[0] or 0


def sweep(spark: SparkSession, path: str, edition: int) -> None:
    """Empty the folder of an edition that nobody reads any more. Without a line and by partition, Spark writes no file."""
    nothing = few(spark, [], PLACE).write.mode("overwrite").option("partitionOverwriteMode", "static")
    nothing.partitionBy(PART).parquet(f"{path}/{EDITION}={edition}")
