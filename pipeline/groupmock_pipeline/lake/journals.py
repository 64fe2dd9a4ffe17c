"""Journals in a lake: the ledger says which rows count, and the tables rows, runs and quarantine are views by it.

An ingest commits to the sink `journals` what it read, as one *take* or two (parts rows, quarantine and files), and then, in one commit,
what the ledger says of them (part runs). What the ledger does not name is not in the lake: so readers see an ingest as a whole, with its
counts, or nothing of it. A file that was read again has a newer take; the older one's rows are passed over, until a compaction leaves them
out. A commit of the ledger counts every take before it that was not counted yet, whoever made it, so that the numbers of batches alone say
what is uncounted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType
from pyspark.sql.window import Window

from .. import schema
from ..errors import BadInput
from . import sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDER: Final = "journals"
ROWS, QUARANTINE, RUNS, FILES = "rows", "quarantine", "runs", "files"
PARTS: Final = (ROWS, RUNS, QUARANTINE)
"""What is read of it as a table."""
COLUMNS: Final = {ROWS: schema.ROWS, QUARANTINE: schema.QUARANTINE, RUNS: schema.RUNS, FILES: schema.FILES}
"""Today's columns, whatever version wrote a lake (null: it had none), so that no file is opened to know them."""
STORED: Final = {"rows": "row_count"}
"""Columns of the ledger that have another name in its files: `rows` is a list in a row of an audit, and a table has one type for a name."""


def read(
    spark: SparkSession, path: str, name: str, head: sink.Head, takes: Collection[int] | None = None, about: Sequence[str] = ()
) -> DataFrame:  # fmt: skip
    """One of `PARTS`; of lines, those of `takes` alone, where they are given: files of others are not opened; each with the columns `about`
    of its run's line in the ledger. The ledger is looked up first: of what it names nothing comes later."""
    runs = ledger(spark, path, head)
    if name == RUNS:
        return runs
    some = f"{'rows' if name == ROWS else 'quarantined'} > 0"
    counted = F.broadcast(runs.where(some).selectExpr("run as of_run", f"{schema.TAKE} as of_take", *about))
    lines = part(spark, path, name, head)
    if takes is not None:
        lines = lines.where(F.col(sink.BATCH).isin(_batches(head.batches.get(name, ()), takes)))
    found = lines.join(counted, F.expr(f"run = of_run and {schema.TAKE} = of_take"))  # which is one line of the ledger at most
    return _without(found, *sink.PLACE.names, schema.TAKE, "of_run", "of_take")


def _batches(there: Sequence[int], takes: Collection[int]) -> list[int]:
    """Where the lines of takes are: each in the batch of its number, those of before a compaction in its batch, the first."""
    return sorted({take if take in there else there[0] for take in takes}) if there else []


def counted(spark: SparkSession, path: str, head: sink.Head) -> dict[str, DataFrame]:
    """What counts of every part, with its takes: all that a compaction keeps. Raises BadInput where a take is not counted yet."""
    if uncounted(head):
        raise BadInput(f"{path}: an ingest was killed, or is at work: run `groupmock pipeline ingest` once more, then compact")
    runs = ledger(spark, path, head)
    kept = {name: runs.where(F.col(count) > 0).select("run", schema.TAKE) for name, count in ((ROWS, "rows"), (QUARANTINE, "quarantined"))}
    lines = {name: part(spark, path, name, head).join(F.broadcast(each), ["run", schema.TAKE], "left_semi") for name, each in kept.items()}
    return {**{name: each.drop(*sink.PLACE.names) for name, each in lines.items()}, RUNS: runs.withColumnsRenamed(STORED)}


def uncounted(head: sink.Head) -> list[int]:
    """Takes of which the ledger says nothing: of an ingest that is at work, or was killed."""
    told = max(head.batches.get(RUNS, ()), default=-1)
    return [take for take in head.batches.get(FILES, ()) if take > told]


def ledger(spark: SparkSession, path: str, head: sink.Head) -> DataFrame:
    """The last line about each file and header; a file without a header is forgotten once it is another's."""
    lines = part(spark, path, RUNS, head)
    if len(head.batches[RUNS]) == 1:  # which says each thing once
        return _without(lines, *sink.PLACE.names)
    among = {"_of_file": Window.partitionBy("file"), "_last": Window.partitionBy("file", "digest")}
    known = lines.withColumns({name: F.max(sink.BATCH).over(each) for name, each in among.items()}).where(
        F.col(sink.BATCH) == F.col("_last")
    )
    return _without(known.where(f"digest is not null or {sink.BATCH} = _of_file"), *sink.PLACE.names, *among)


def _without(lines: DataFrame, *columns: str) -> DataFrame:
    """The other columns, `day` first as in every table of journals: of a moved lake Spark has it last, as a folder's. (A list of all
    names would be four calls into Java for each.)"""
    return lines.selectExpr(sink.DAY, f"* except ({', '.join((sink.DAY, *columns))})")


def part(spark: SparkSession, path: str, name: str, head: sink.Head) -> DataFrame:
    """All lines of a part, with their take, also those that do not count."""
    columns = COLUMNS[name]
    if schema.TAKE not in columns.names:
        columns = StructType([*columns.fields, schema.TAKE_FIELD])
    if name != RUNS:
        return sink.read(spark, path, name, columns, head)
    stored = StructType([StructField(STORED.get(field.name, field.name), field.dataType) for field in columns.fields])
    return sink.read(spark, path, name, stored, head).withColumnsRenamed({new: old for old, new in STORED.items()})


def check_age(spark: SparkSession, lake: str) -> None:
    """Raises BadInput for a lake that has a folder of Parquet for each run, as those of the first version."""
    try:
        spark.read.schema(schema.RUNS).parquet(f"{lake.rstrip('/')}/runs").inputFiles()  # a session of Spark Connect looks no sooner
    except AnalysisException:
        return
    raise BadInput(f"{lake} was made by an older groupmock, a folder for each run: ingest its journals into a new folder")
