"""Merge the small files that many ingests left into files of about 128 MB by day and run, without lines that no longer count.

Readers that began before the compaction continue with the old files, which the next compaction, or --sweep, deletes.
"""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING, Final

from .. import tables
from ..errors import BadInput
from ..lake import sink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INPUT: Final = "the lake"
OUTPUT: Final = None
"""The job has no output of its own, because it rewrites the input lake."""
TABLES: Final = ("rows", "rebalances", "heartbeats", "shares", "faults", "audit", "campaign", "simulation")
"""The tables that grow with every run and are therefore compacted. `rows` includes the other tables that ingest makes."""

log = logging.getLogger("groupmock_pipeline")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sweep", action="store_true", help="take the files of before away at once: nobody reads the lake now")


def run(spark: SparkSession, arguments: argparse.Namespace) -> None:
    """Compact the tables one by one, each in one commit."""
    lake = arguments.input
    found = [name for name in TABLES if tables.exists(spark, lake, name)]
    if not found:
        raise BadInput(f"{lake} has no table to compact: `groupmock pipeline ingest JOURNALS {lake}` makes some")
    for name in found:
        before = tables.compact(spark, lake, name)
        path = tables.place(lake, name)
        after = sink.head(spark, path)
        log.info("table %s: %d files became %d", name, before.files, after.files)
        for edition in range(max(0, before.edition - 1), before.edition + arguments.sweep):
            sink.sweep(spark, path, edition)
