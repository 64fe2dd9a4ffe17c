"""A table of a lake: one file sink of Structured Streaming, whose log lists the files of the table.

Theory. A table is a folder. It holds Parquet files by edition, batch, part and (in some tables) day; `_spark_metadata`, the sink's log; and
`_checkpoint`, the log of the query that writes the table. A *commit* is one micro-batch of that query: Spark writes the files, then one
entry of the log, which appears atomically. Readers read the files that the log names. So they see the table before or after a commit,
whichever job is killed at whichever time. Files are never changed in place.

A commit compares and swaps. The query's source counts: its micro-batch N is the one row N (`rate-micro-batch`). The frame to commit is the
static side of a join with that row on the number that the writer expects, the last one that it saw plus one. A writer that planned with an
outdated table therefore writes an empty batch. If two jobs write the same batch at once, Spark's log accepts one, and the other's query
fails. A batch whose writer was killed is written again by the next writer with its own frame, and nothing of the killed one is in the log.
(Every query contains the source twice, for the lines and for the mark, because a checkpoint fixes the number of sources.)

*Parts* are frames of different columns in one commit, for example good rows and broken lines. Each commit also has a mark with the columns
of its parts as JSON. An *edition* replaces all earlier ones (the table was made anew or compacted), and readers take the highest. The files
of an overtaken writer have edition -1, which nobody reads.

Spark's documentation: https://spark.apache.org/docs/latest/streaming/structured-streaming-programming-guide.html (file sink, availableNow).
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
from ..literal_frame import literal_frame

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

EDITION: Final = "_edition"
BATCH: Final = "_batch"
PART: Final = "_part"
DAY: Final = "day"
PLACE: Final = StructType([StructField(EDITION, IntegerType()), StructField(BATCH, LongType()), StructField(PART, StringType())])
"""The columns that locate a line in any table. These columns are folders and not in the files."""
MARK: Final = "commit"
"""The part that every commit has: one line that records the columns of the other parts (`PART_COLUMNS`)."""
PART_COLUMNS: Final = "_told"
NOWHERE: Final = -1
"""The edition number for lines of a job that was overtaken by another job's commit, which no reader looks at."""
_DUE: Final = "_due"
ANY: Final = -1
"""The number that stands for any batch, so that the line of part `MARK` is written with every micro-batch."""
OBSERVED, WRITTEN = "commit", "_written"
Counts = dict[str, int]
RACES: Final = (
    "Race while writing batch",
    "CONCURRENT_STREAM_LOG_UPDATE",
    "Concurrent update to the log",
    "Multiple streaming queries are concurrently using",
)
"""Spark's messages to the slower of two jobs that write a batch at once. The last one appears when both rename a file of a log at the
same moment."""
FILE_BYTES: Final = 128 << 20
"""The approximate size of a compacted table's files."""
ORDER: Final = (DAY, "run", "line")
"""The columns by which a compacted table is sorted."""
REPLACING: Final = re.compile(r"(s3a?|gs|wasbs?|abfss?|oss)://", re.IGNORECASE)
"""Matches stores on which a rename may replace an existing file. Two jobs that write a batch at the same moment may both believe that
they won, so the table is read once more to decide."""


class Head(NamedTuple):
    """The state of a table: its edition, and the number of its last batch."""

    edition: int
    batch: int
    batches: Mapping[str, tuple[int, ...]]
    """Maps each part to the numbers of those batches of the edition that contain the part."""
    files: int = 0
    """The number of files in the edition."""
    moved: Mapping[str, tuple[str, ...]] | None = None
    """Maps each part to its files in the edition, if the table was moved. None if the table is still where it was made, because then
    Spark's log names the files."""


NOTHING: Final = Head(0, -1, {})
"""The state of a table that does not exist."""
PLACED: Final = re.compile(rf"/({EDITION}=(-?\d+)/{BATCH}=(\d+)/{PART}=(\w+)/.*)")


def head(spark: SparkSession, path: str) -> Head:
    """Read the state off the names of the files in the log, without opening any file."""
    try:
        # The files of a lake that was moved have several roots, and Spark would refuse to read them as one table, so it must not look for
        # partition folders.
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
    """Return Spark's current name of a file in the table. The log has the names of the time when the table was made, and a lake may have
    been moved."""
    found = spark.read.schema(PLACE).parquet(unquote(f"{path}/{below}")).inputFiles()
    return found[0] if found else ""


def read(spark: SparkSession, path: str, part: str, columns: StructType, at: Head) -> DataFrame:
    """Return the lines of a part in one edition of the table, with these columns (null if the files lack them) and `PLACE`."""
    reader = spark.read.schema(StructType([*columns.fields, *PLACE.fields]))
    if at.moved is None:
        return reader.parquet(path).where(f"{EDITION} = {at.edition} and {PART} = '{part}'")
    files = at.moved.get(part)
    # If this part has no files, a line that every commit has (`MARK`) is read instead, so that the empty result has its columns.
    found = reader.option("basePath", path).parquet(*(files or at.moved[MARK]))
    return found if files else found.where(F.lit(False))


def columns(spark: SparkSession, path: str, part: str, at: Head) -> StructType:
    """Return a part's columns as the last commit recorded them."""
    mark = read(spark, path, MARK, StructType([StructField(PART_COLUMNS, StringType())]), at).where(f"{BATCH} = {at.batches[MARK][-1]}")
    row = mark.select(PART_COLUMNS).first()
    part_columns = {} if row is None else json.loads(row[PART_COLUMNS])
    assert part in part_columns, f"{path}: the last commit has no part {part!r}"
    return StructType.fromJson(json.loads(part_columns[part]))


def parts(frames: Mapping[str, DataFrame]) -> DataFrame:
    """Combine frames into one, with the name of the part in each line."""
    named = [frame.withColumn(PART, F.lit(part)) for part, frame in frames.items()]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), named)


class Due(NamedTuple):
    """A batch that is to be written to a table, with the stream of numbers that selects its lines."""

    path: str
    number: int
    edition: int
    numbers: DataFrame
    """The stream of pairs (BATCH, DUE), two for each micro-batch: one selects the lines of the batch, one the line of part `MARK`."""

    def joined(self, frame: DataFrame) -> DataFrame:
        """Add the columns `EDITION` and `BATCH`, which put all lines of a frame into this batch. All of its lines are in the batch of
        that number, and none in any other."""
        return self._with_number(frame.withColumn(_DUE, F.lit(self.number).cast("bigint")))

    def mark(self, said: str, by_day: bool) -> DataFrame:
        """Return the line of part `MARK`, which every commit contains, with the description `said` of the commit."""
        made = {PART_COLUMNS: F.lit(said), PART: F.lit(MARK), _DUE: F.lit(ANY).cast("bigint"), **({DAY: F.lit("")} if by_day else {})}
        return self._with_number(self.numbers.sparkSession.range(1).select(*(value.alias(name) for name, value in made.items())))

    def _with_number(self, frame: DataFrame) -> DataFrame:
        edition = F.when(F.col(BATCH) == self.number, F.lit(self.edition)).otherwise(NOWHERE)
        return frame.join(F.broadcast(self.numbers), _DUE).drop(_DUE).withColumn(EDITION, edition)


def due(spark: SparkSession, path: str, at: Head, edition: int) -> Due:
    """Return the batch that follows the table's state `at`. `edition` is that of `at`, or the next one to replace the table."""
    counter = spark.readStream.format("rate-micro-batch").options(rowsPerBatch=1, numPartitions=1).load()
    numbers = counter.select(F.col("value").alias(BATCH), F.explode(F.array("value", F.lit(ANY).cast("bigint"))).alias(_DUE))
    return Due(path, at.batch + 1, edition, numbers)


def has_grown(at: Head, due: Due) -> bool:
    """Tell whether the table has changed since the batch was planned. Batches of overtaken writers have no lines."""
    return at.edition != due.edition or any(batches[-1] >= due.number for batches in at.batches.values())


def commit(due: Due, lines: DataFrame, counted: Mapping[str, Column], told: Mapping[str, StructType]) -> Counts:
    """Write lines (with the column `PART`) to the table as the batch `due`. The lines are derived from a frame joined with it, or are
    joined here. Joining fewer and narrower lines is cheaper.

    Returns the sums of `counted`, which are conditions on lines. `told` has the columns of parts, for `columns`. Raises Overtaken if
    another job has written the batch; then none of these lines are in the table.
    """
    spark, token = lines.sparkSession, uuid4().hex
    mine = F.col(BATCH) == due.number
    sums = [F.sum((mine & each).cast("bigint")).alias(name) for name, each in counted.items()]
    by_day = DAY in lines.columns
    mark = due.mark(json.dumps({"token": token, **{part: columns.json() for part, columns in told.items()}}), by_day)
    placed = (lines if BATCH in lines.columns else due.joined(lines)).unionByName(mark, allowMissingColumns=True)
    query = (
        # The rows are counted as a sum of numbers, because `count_if` would copy each line once more.
        placed.observe(OBSERVED, F.sum(mine.cast("bigint")).alias(WRITTEN), *sums)
        .writeStream.format("parquet")
        .options(path=due.path, checkpointLocation=f"{due.path}/_checkpoint", compression="zstd")
        .partitionBy(EDITION, BATCH, PART, *([DAY] if by_day else []))
        .trigger(availableNow=True)
        .start()
    )
    raced = _raced(query)
    seen = next((each for each in _observed(query, due.number) if each.get(WRITTEN)), None)
    if seen is None or raced or REPLACING.match(due.path):
        now = head(spark, due.path)
        seen = _read_again(spark, due.path, now._replace(edition=due.edition, batch=due.number), token, sums)
    if seen is None:
        raise Overtaken(due.path)
    return {name: seen[name] or 0 for name in counted}


def _raced(query: StreamingQuery) -> bool:
    """Wait for the query's end, and return whether another job wrote the same batch. The sink's log tells which job won."""
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        if not any(race in str(error) for race in RACES):
            raise
        return True
    finally:
        query.stop()
    return False


def _observed(query: StreamingQuery, batch: int) -> Iterator[Counts]:
    """Yield the figures that `observe` saw of a batch, or nothing if the log had the batch already. Spark Connect returns them as a Row
    of `values` and `schema`."""
    for progress in query.recentProgress:
        figures = progress["observedMetrics"].get(OBSERVED) if progress["batchId"] == batch else None
        if figures is not None:
            seen = figures.asDict()
            if "schema" in seen:
                seen = dict(zip((each["name"] for each in seen["schema"]["fields"]), seen["values"], strict=True))
            yield seen


def _read_again(spark: SparkSession, path: str, at: Head, token: str, sums: Sequence[Column]) -> Counts | None:
    """Read the figures of a commit off the table itself. Returns None if another job wrote the batch."""
    mine = F.col(BATCH) == at.batch
    marks = read(spark, path, MARK, StructType([StructField(PART_COLUMNS, StringType())]), at)
    if marks.where(mine & (F.get_json_object(PART_COLUMNS, "$.token") == token)).isEmpty():
        return None
    files = None if at.moved is None else [file for files in at.moved.values() for file in files]
    lines = spark.read.schema(PLACE).option("basePath", path).parquet(*(files or [path]))
    row = lines.where((F.col(EDITION) == at.edition) & mine).agg(F.count("*").alias(WRITTEN), *sums).first()
    assert row is not None
    return row.asDict()


def gathered(path: str, part: str, lines: DataFrame, at: Head) -> DataFrame:
    """Spread lines over tasks of about `FILE_BYTES` each, sorted by day and run if they have these columns."""
    tasks = max(1, round(_bytes(lines.sparkSession, path, part, at) / FILE_BYTES))
    order = [name for name in ORDER if name in lines.columns]
    return lines.repartitionByRange(tasks, *order).sortWithinPartitions(*order) if order else lines.coalesce(tasks)


def _bytes(spark: SparkSession, path: str, part: str, at: Head) -> int:
    """Return the size of a part's files in one edition, or 0 if the edition lacks the part and hence the folder to list."""
    if part not in at.batches:
        return 0
    # The files are in folders that do not form one partitioned table.
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    size = reader.load(f"{path}/{EDITION}={at.edition}/{BATCH}=*/{PART}={part}").agg(F.sum("length")).first()
    return 0 if size is None else size[0] or 0


def sweep(spark: SparkSession, path: str, edition: int) -> None:
    """Empty the folder of an edition that is not read any more. Spark writes no file for an empty frame with partitions."""
    nothing = literal_frame(spark, [], PLACE).write.mode("overwrite").option("partitionOverwriteMode", "static")
    nothing.partitionBy(PART).parquet(f"{path}/{EDITION}={edition}")
