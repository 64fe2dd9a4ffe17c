"""Read journals (.jsonl, .gz, .zst) into tables, by day, and skip journals that the tables contain already.

The job writes `rows`, `runs` (one line per file: the ledger) and `quarantine` (lines that are no rows, with the reason).
"""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Iterator
from time import sleep
from typing import TYPE_CHECKING

from .. import interrupts, tables
from ..errors import BadInput
from ..ingest.taking import Outcome, Reading, ingest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUFFIXES = ".jsonl, .jsonl.gz or .jsonl.zst"
INPUT = "journals: a file, a folder with all below it, or a glob"
OUTPUT = "the lake: a new or empty folder, or one that ingest made"
LINE_MIB = 64
SILENCE_S = 60.0

log = logging.getLogger("groupmock_pipeline")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    limit = f"longer lines go to the quarantine (default {LINE_MIB})"
    parser.add_argument("--line-limit", type=int, default=LINE_MIB, metavar="MIB", help=limit)
    silence = f"a journal that did not end is taken when nothing came for so long, and again when it grew (default {SILENCE_S:g})"
    parser.add_argument("--silence", type=float, default=SILENCE_S, metavar="SECONDS", help=silence)
    parser.add_argument("--follow", type=float, metavar="SECONDS", help="go on, and look for new journals that often")


def run(spark: SparkSession, arguments: argparse.Namespace) -> None:
    for _ in rounds(spark, arguments):
        pass


def rounds(spark: SparkSession, arguments: argparse.Namespace) -> Iterator[Outcome]:
    """Ingest all new journals, once or for ever with --follow. Raises BadInput for bad flags, and if a single ingest finds no journal."""
    reading = _reading(arguments)
    before = None
    while True:
        outcome = ingest(spark, arguments.input, arguments.output, reading)
        if outcome != before:  # With --follow an unchanged outcome is not logged again.
            log.info("ingest: %s", outcome_text(outcome))
        before = outcome
        if arguments.follow is None:
            _check_found(spark, arguments, outcome)
        yield outcome
        if arguments.follow is None:
            return
        interrupts.check()
        sleep(arguments.follow)


def _reading(arguments: argparse.Namespace) -> Reading:
    if arguments.line_limit < 1:
        raise BadInput(f"--line-limit {arguments.line_limit}: give at least 1 MiB")
    if arguments.silence < 0:
        raise BadInput(f"--silence {arguments.silence:g}: give 0 or more seconds")
    if arguments.follow is not None and arguments.follow <= 0:
        raise BadInput(f"--follow {arguments.follow:g}: give more than 0 seconds")
    return Reading(arguments.line_limit << 20, arguments.silence, os.cpu_count() or 1)


def _check_found(spark: SparkSession, arguments: argparse.Namespace, outcome: Outcome) -> None:
    if not (outcome.files + outcome.known + outcome.writing or tables.exists(spark, arguments.output, "runs")):
        raise BadInput(f"{arguments.input}: no journal is there: their names end in {SUFFIXES}, and begin with neither . nor _")


def outcome_text(outcome: Outcome) -> str:
    """Format the counts of an ingest as a sentence."""
    writing = f"; {outcome.writing} that did not end and may still be written: taken later" if outcome.writing else ""
    if not outcome.files:
        return f"nothing new, {outcome.known} journals known already{writing}"
    words = [f"{outcome.rows} rows", f"{outcome.quarantined} lines to the quarantine", f"{outcome.duplicates} duplicates"]
    words += [f"{outcome.problems} files with a problem (runs.problem)"] if outcome.problems else []
    return f"{outcome.files} journals read, {outcome.known} known already: {', '.join(words)}{writing}"
