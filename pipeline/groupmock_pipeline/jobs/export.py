"""Write the runs of a lake as journals: JSON Lines that `groupmock audit`, `groupmock journal` and every reader of journals accept.

The job reads `rows` and `runs`, and writes FOLDER/RUN.jsonl for each run. Lines in the quarantine are not exported. A run whose header is
not understood is not exported.

    groupmock pipeline export LAKE FOLDER --run 'orders_v2-.*'
"""

from __future__ import annotations

import argparse
import logging
import re
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from .. import schema, tables
from ..arrow import map_in_arrow
from ..audited.journal_lines import FILES, PLACE, written
from ..errors import BadInput

OUTPUT: Final = "the folder for the journals (made if it is not there); on a cluster one that every worker sees"
HEADER: Final = tuple(schema.HEADER.names)

log = logging.getLogger("groupmock_pipeline")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run", metavar="REGEXP", help="only runs whose key matches as a whole (default: all)")


def run(spark: SparkSession, arguments: argparse.Namespace) -> None:
    """Write the journals of a lake into a folder."""
    folder = Path(arguments.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise BadInput(f"{folder}: {problem.strerror}; name a folder that can be written") from None
    rows, runs = (tables.read(spark, arguments.input, name).where(_wanted(arguments.run)) for name in ("rows", "runs"))
    # Only two figures are collected to the driver.
    totals = export(rows, runs, str(folder.absolute())).agg(F.count("*"), F.coalesce(F.sum("rows"), F.lit(0))).first()
    if totals is None or not totals[0]:
        raise BadInput(f"no run of {arguments.input} matches {arguments.run!r}" if arguments.run else f"{arguments.input} has no runs")
    log.info("export: %d journals, %d rows, to %s", totals[0], totals[1], folder)


def export(rows: DataFrame, runs: DataFrame, folder: str) -> DataFrame:
    """Write the journals of tables `rows` and `runs`, and return a line about each written file (FILES). Each worker writes one run
    after the other, with its lines in order."""
    return map_in_arrow(lines(rows, runs), written(folder), FILES)


def lines(rows: DataFrame, runs: DataFrame) -> DataFrame:
    """Return the lines of journals as run, line and the columns of a row. Line 1 is the header, whose fields are packed into `more` as
    JSON."""
    known = runs.where(F.col("run").isNotNull() & F.col("duplicate_of").isNull() & (F.col("header") == 1))
    names = {"run": schema.NAME}
    values = F.struct(*(F.col(names.get(name, name)).alias(name) for name in HEADER))
    header = known.select("run", F.lit(1).cast("bigint").alias("line"), F.to_json(values).alias("more"))
    whole = rows.join(F.broadcast(known.select("run")), "run", "left_semi").select("run", *PLACE, *schema.LINE.names, "more")
    return header.unionByName(whole, allowMissingColumns=True).repartition("run").sortWithinPartitions("run", "line")


def _wanted(pattern: str | None) -> Column:
    if pattern is None:
        return F.lit(True)
    try:
        re.compile(pattern)
    except re.error as problem:
        raise BadInput(f"--run {pattern}: not a regular expression: {problem}") from problem
    return F.col("run").rlike(f"^(?:{pattern})$")
