"""The tables rows, runs and quarantine: views of the journals in a lake. The ledger says which rows count.

An ingest commits what it read to the sink `journals` as one or two *takes* (parts rows, quarantine and files). Then it commits the ledger's
entries about them (part runs). Takes that the ledger does not name are not in the lake, so readers see an ingest as a whole with its
counts, or nothing of it. A file that was read again has a newer take; the rows of the older take are ignored, until a compaction drops
them. A commit of the ledger counts every uncounted take before it, whoever made it. Hence the numbers of batches tell which takes are
uncounted.
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
"""The parts of the file sink `journals` that are read as tables."""
COLUMNS: Final = {ROWS: schema.ROWS, QUARANTINE: schema.QUARANTINE, RUNS: schema.RUNS, FILES: schema.FILES}
"""The columns that each part has in this version of groupmock. A lake of another version is read with them too (missing columns are
null), so that no file is opened to learn the columns."""
STORED: Final = {"rows": "row_count"}
"""Columns of the ledger with another name in its files: `rows` is also a list in a row of an audit, and a table has one type per name."""


def read(
    spark: SparkSession, path: str, name: str, head: sink.Head, takes: Collection[int] | None = None, about: Sequence[str] = ()
) -> DataFrame:  # fmt: skip
    """Read the table of the given name, one of `PARTS`. With `takes` only the files of these takes are opened. Each line gets the columns
    `about` of its run's entry in the ledger.

    The ledger is read first, because all that it names was written before it.
    """
    runs = ledger(spark, path, head)
    if name == RUNS:
        return runs
    some = f"{'rows' if name == ROWS else 'quarantined'} > 0"
    counted = F.broadcast(runs.where(some).selectExpr("run as of_run", f"{schema.TAKE} as of_take", *about))
    lines = part(spark, path, name, head)
    if takes is not None:
        lines = lines.where(F.col(sink.BATCH).isin(_batches(head.batches.get(name, ()), takes)))
    # For each line the join finds at most one entry of the ledger.
    found = lines.join(counted, F.expr(f"run = of_run and {schema.TAKE} = of_take"))
    return _without(found, *sink.PLACE.names, schema.TAKE, "of_run", "of_take")


def _batches(there: Sequence[int], takes: Collection[int]) -> list[int]:
    """Return the batches of the sink that hold the lines of these takes (commits of an ingest). A take has the batch of its number, or
    the first batch if a compaction has merged it."""
    return sorted({take if take in there else there[0] for take in takes}) if there else []


def counted(spark: SparkSession, path: str, head: sink.Head) -> dict[str, DataFrame]:
    """Return the lines of every part that the ledger counts, with the number of the commit (take) that wrote them. Raises BadInput if a
    take is not counted yet."""
    if uncounted(head):
        raise BadInput(f"{path}: an ingest was killed, or is at work: run `groupmock pipeline ingest` once more, then compact")
    runs = ledger(spark, path, head)
    kept = {name: runs.where(F.col(count) > 0).select("run", schema.TAKE) for name, count in ((ROWS, "rows"), (QUARANTINE, "quarantined"))}
    lines = {name: part(spark, path, name, head).join(F.broadcast(each), ["run", schema.TAKE], "left_semi") for name, each in kept.items()}
    return {**{name: each.drop(*sink.PLACE.names) for name, each in lines.items()}, RUNS: runs.withColumnsRenamed(STORED)}


def uncounted(head: sink.Head) -> list[int]:
    """Return the takes (commits of an ingest) without an entry in the ledger: their ingest is still at work, or was killed."""
    last_counted = max(head.batches.get(RUNS, ()), default=-1)
    return [take for take in head.batches.get(FILES, ()) if take > last_counted]


def ledger(spark: SparkSession, path: str, head: sink.Head) -> DataFrame:
    """Return the last entry about each file and header. An entry without a header is dropped when the file has a newer entry."""
    lines = part(spark, path, RUNS, head)
    if len(head.batches[RUNS]) == 1:  # If the ledger has only one batch, none of its entries is outdated.
        return _without(lines, *sink.PLACE.names)
    among = {"_of_file": Window.partitionBy("file"), "_last": Window.partitionBy("file", "digest")}
    known = lines.withColumns({name: F.max(sink.BATCH).over(each) for name, each in among.items()}).where(
        F.col(sink.BATCH) == F.col("_last")
    )
    return _without(known.where(f"digest is not null or {sink.BATCH} = _of_file"), *sink.PLACE.names, *among)


def _without(lines: DataFrame, *columns: str) -> DataFrame:
    """Drop columns and put `day` first as in every table of journals, because Spark has it last in a lake that was moved. (A list of all
    names would cost four calls into Java per name.)"""
    return lines.selectExpr(sink.DAY, f"* except ({', '.join((sink.DAY, *columns))})")


def part(spark: SparkSession, path: str, name: str, head: sink.Head) -> DataFrame:
    """Return all lines of a part with the number of the commit (take) that wrote them, including lines that the ledger does not count."""
    columns = COLUMNS[name]
    if schema.TAKE not in columns.names:
        columns = StructType([*columns.fields, schema.TAKE_FIELD])
    if name != RUNS:
        return sink.read(spark, path, name, columns, head)
    stored = StructType([StructField(STORED.get(field.name, field.name), field.dataType) for field in columns.fields])
    return sink.read(spark, path, name, stored, head).withColumnsRenamed({new: old for old, new in STORED.items()})


def check_age(spark: SparkSession, lake: str) -> None:
    """Raises BadInput for a lake of the first version, which has a folder of Parquet for each run."""
    try:
        # Asking for a table's files makes Spark Connect analyse the query, which fails if they are missing.
        spark.read.schema(schema.RUNS).parquet(f"{lake.rstrip('/')}/runs").inputFiles()
    except AnalysisException:
        return
    raise BadInput(f"{lake} was made by an older groupmock, a folder for each run: ingest its journals into a new folder")
