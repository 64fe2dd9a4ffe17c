"""Run all steps in one session: ingest the new journals, update the tables that grow with them, and write the report.

The job `all` runs `ingest`, then `rebalances`, `heartbeats`, `shares`, `faults` and `audit` for the new runs, and then `report` if
--report is given.
With `--follow SECONDS` the session stays, and all steps are repeated as soon as new journals have come.
"""

from __future__ import annotations

import argparse
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from .. import tables
from . import audit, faults, heartbeats, ingest, rebalances, report, shares

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INPUT: Final = ingest.INPUT
OUTPUT: Final = ingest.OUTPUT
GROWING: Final = {"rebalances": rebalances, "audit": audit, "heartbeats": heartbeats, "faults": faults, "shares": shares}
"""Maps each table to the job that extends it. The slowest jobs start first."""

log = logging.getLogger("groupmock_pipeline")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    ingest.add_arguments(parser)
    parser.add_argument("--report", metavar="OUT", help="the report too, into that folder")
    report.add_arguments(parser)


def load(arguments: argparse.Namespace) -> None:
    if arguments.report is not None:
        report.load(arguments)


def run(spark: SparkSession, arguments: argparse.Namespace) -> None:
    """Run once, and with --follow run again whenever journals came, in a session that has warmed up."""
    lake = argparse.Namespace(**{**vars(arguments), "input": arguments.output, "rule": []})
    made = False
    for outcome in ingest.rounds(spark, arguments):
        if made and not outcome.files:
            continue
        if outcome.files or tables.exists(spark, lake.input, "runs"):
            _grown(spark, lake)
            made = True
        else:
            log.info("all: no journal has ended yet: there is nothing to make tables of")


def _grown(spark: SparkSession, lake: argparse.Namespace) -> None:
    """Extend the tables in parallel, because planning dominates a small lake and uses one core. The report reads each table as
    soon as it is made."""
    with ThreadPoolExecutor(len(GROWING)) as threads:
        made = {table: threads.submit(job.run, spark, lake) for table, job in GROWING.items()}
        if lake.report is not None:
            report.write_page(spark, argparse.Namespace(**{**vars(lake), "output": lake.report}), made)
        for each in made.values():
            each.result()
