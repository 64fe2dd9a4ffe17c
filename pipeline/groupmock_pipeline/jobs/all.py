"""Everything in one session: what is new of the journals, the tables that grow with it, and the report.

`ingest`, then `rebalances`, `heartbeats` and `faults` of the runs that are new, then `report` where --report says so.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from . import faults, heartbeats, ingest, rebalances, report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INPUT: Final = ingest.INPUT
OUTPUT: Final = ingest.OUTPUT
GROWING: Final = (rebalances, heartbeats, faults)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    ingest.reading_arguments(parser)
    parser.add_argument("--report", metavar="OUT", help="the report too, into that folder")
    report.add_arguments(parser)


def run(spark: SparkSession, arguments: argparse.Namespace) -> None:
    """The three tables side by side: much of a small lake's time is planning, which one core does."""
    ingest.run(spark, arguments)
    lake = argparse.Namespace(**{**vars(arguments), "input": arguments.output})
    with ThreadPoolExecutor(len(GROWING)) as threads:
        for done in [threads.submit(job.run, spark, lake) for job in GROWING]:
            done.result()
    if arguments.report is not None:
        report.run(spark, argparse.Namespace(**{**vars(lake), "output": arguments.report}))
