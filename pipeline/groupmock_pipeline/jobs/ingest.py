"""Journals (.jsonl, .gz, .zst) into Parquet tables, by day and run; what is there already is not read again.

Writes `rows`, `runs` (one line per file: the ledger) and `quarantine` (lines that are no rows, with the reason).
"""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING

from ..errors import BadInput
from ..ingest import placing
from ..ingest.batch import BatchOutcome, ingest
from ..ingest.files import listed
from ..ingest.stream import started
from ..storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUFFIXES = ".jsonl, .jsonl.gz or .jsonl.zst"
INPUT = "journals: a file, a folder with all below it, or a glob"
OUTPUT = "the lake: a new or empty folder, or one that ingest made"
LINE_MIB = 64

log = logging.getLogger("groupmock_pipeline")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    limit = f"longer lines go to the quarantine (default {LINE_MIB})"
    parser.add_argument("--line-limit", type=int, default=LINE_MIB, metavar="MIB", help=limit)
    parser.add_argument("--stream", metavar="CHECKPOINT", help="as a stream with its checkpoint in that folder; ends when all is ingested")
    parser.add_argument("--follow", type=float, metavar="SECONDS", help="with --stream: go on, and look for new journals that often")


def run(spark: SparkSession, arguments: argparse.Namespace) -> None:
    """Ingest what is new."""
    if arguments.line_limit < 1:
        raise BadInput(f"--line-limit {arguments.line_limit}: give at least 1 MiB")
    if arguments.follow is not None and (arguments.stream is None or arguments.follow <= 0):
        raise BadInput("--follow SECONDS goes with --stream CHECKPOINT and is more than 0")
    storage = lake(spark, arguments.output)
    with storage.locked(placing.LOCK):
        placing.recover(storage)
        (_batch if arguments.stream is None else _stream)(spark, arguments)


def _batch(spark: SparkSession, arguments: argparse.Namespace) -> None:
    outcome = ingest(listed(spark, arguments.input), arguments.output, arguments.line_limit << 20)
    if not outcome.files + outcome.known:
        raise BadInput(f"{arguments.input}: no journal is there: their names end in {SUFFIXES}, and begin with neither . nor _")
    log.info("ingest: %s", told(outcome))


def _stream(spark: SparkSession, arguments: argparse.Namespace) -> None:
    total = BatchOutcome()

    def heard(outcome: BatchOutcome) -> None:
        nonlocal total
        total = total.plus(outcome)
        log.info("ingest: %s", told(outcome))

    limit = arguments.line_limit << 20
    query = started(spark, arguments.input, arguments.output, arguments.stream, limit, arguments.follow, heard)
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()
    log.info("ingest: the stream ended; in all %s", told(total))


def lake(spark: SparkSession, place: str) -> Storage:
    """The lake to write. Raises BadInput where something else is."""
    storage = Storage(spark, place)
    if storage.exists("") and not storage.is_folder(""):
        raise BadInput(f"{place} is a file: name a folder for the lake")
    names = storage.names("")
    others = [name for name, is_folder in names if not is_folder and not name.startswith((".", "_"))]
    if others and ("runs", True) not in names:
        raise BadInput(f"{place} is no lake: {others[0]} is in it; name a new or an empty folder")
    return storage


def told(outcome: BatchOutcome) -> str:
    """In words."""
    if not outcome.files:
        return f"nothing new, {outcome.known} journals known already"
    words = [f"{outcome.rows} rows", f"{outcome.quarantined} lines to the quarantine", f"{outcome.duplicates} duplicates"]
    words += [f"{outcome.problems} files with a problem (runs.problem)"] if outcome.problems else []
    return f"{outcome.files} journals read, {outcome.known} known already: {', '.join(words)}"
