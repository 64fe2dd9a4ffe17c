"""Measures how many small runs slow a lake down: `python small_runs.py JOURNALS LAKE` prints lines of a name and a figure.

All runs are ingested at once into LAKE, then ten at a time into a second lake beside it. Each lake is listed and queried before and after
`compact`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from groupmock_pipeline import command, jobs, tables
from groupmock_pipeline.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LITTLE: Final = 40
"""The number of ingests with ten journals each."""


def seconds(work: Callable[[], Any]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def tell(name: str, figure: float) -> None:
    print(name.replace(" ", "_"), figure, flush=True)


def job(spark: SparkSession, name: str, *words: str) -> float:
    return seconds(lambda: jobs.job(name).run(spark, command.parse(name, words, name)))


def looked_at(spark: SparkSession, lake: str, when: str) -> None:
    """Print the files, folders and bytes, and the seconds to list the files of all rows and to count rebalances by their trigger."""
    below = list(os.walk(lake))
    tell(f"{when}: files", sum(len(files) for _, _, files in below))
    tell(f"{when}: folders", sum(len(folders) for _, folders, _ in below))
    tell(f"{when}: MB", sum(os.path.getsize(os.path.join(place, file)) for place, _, files in below for file in files) / 1e6)
    tell(f"{when}: s to list", seconds(lambda: tables.read(spark, lake, "rows").inputFiles()))
    for name, column in (("rebalances", "trigger"), ("rows", "kind")):
        tell(f"{when}: s to ask {name}", seconds(lambda: tables.read(spark, lake, name).groupBy(column).count().collect()))  # noqa: B023  # at once


def main(journals: str, lake: str) -> None:
    spark = session("small runs", None, {"spark.ui.showConsoleProgress": "false"})
    tell("at once: s to ingest", job(spark, "ingest", journals, lake))
    tell("at once: s for rebalances", job(spark, "rebalances", lake, lake))
    looked_at(spark, lake, "at once")
    tell("at once: s to compact", job(spark, "compact", lake))
    looked_at(spark, lake, "at once, compacted")
    little = f"{lake}-little"
    there = sum(len(files) for _, _, files in os.walk(journals))
    spent = []
    for number in range(min(LITTLE, there // 10)):
        spent.append(job(spark, "ingest", f"{journals}/000/{number:05}*.jsonl", little))
        job(spark, "rebalances", little, little)
    tell("ten at a time: s of an ingest, the second", spent[1])
    tell("ten at a time: s of an ingest, the last", spent[-1])
    looked_at(spark, little, "ten at a time")
    tell("ten at a time: s to compact", job(spark, "compact", little))
    looked_at(spark, little, "ten at a time, compacted")
    spark.stop()


main(*sys.argv[1:])
