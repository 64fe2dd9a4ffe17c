"""Write one HTML page about all tables of the lake, with plots and tables, and the plots also as PNG files.

    groupmock pipeline report LAKE FOLDER

The job writes FOLDER/report.html (one file that loads nothing from elsewhere), FOLDER/TABLE-N.png, and FOLDER/timeline-N.html with the
timelines of the worst five runs. For a table that the lake lacks, the report has a sentence that names the job which writes the table.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException

from .. import tables
from ..errors import BadInput
from ..lake import journals
from ..report import draw
from ..report.ask import answers, first_lines
from ..report.first_screen import sentences, worst_runs
from ..report.out_folder import OutFolder, out_folder
from ..report.page import page
from ..report.sections import REBALANCES, SECTIONS
from ..report.shapes import Section, Shown
from ..report.timelines import timelines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OUTPUT: Final = "the folder to write report.html and the plots into (made if it is not there), or its URI: s3a://BUCKET/FOLDER"
PAGE: Final = "report.html"
AT_ONCE: Final = 4
"""Sections that are computed at the same time, because planning one leaves Spark's workers idle."""
SMALL: Final = 100_000
"""Tables up to this many lines become one partition, because shuffling so few lines takes longer than one task."""

log = logging.getLogger("groupmock_pipeline")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--title", default="groupmock: report", metavar="TEXT", help="title of the page")


def load(_: argparse.Namespace) -> None:
    """Import the drawing library while Java starts, because that takes half a second. If the library is missing, drawing reports it
    later."""
    with suppress(ModuleNotFoundError):
        draw.load()


def run(spark: SparkSession, arguments: argparse.Namespace) -> None:
    """Write the report on the tables that the lake has now."""
    write_page(spark, arguments, {})


def write_page(spark: SparkSession, arguments: argparse.Namespace, coming: Mapping[str, Future[None]]) -> None:
    """Compute several sections at once, and draw finished ones while Spark computes others. A section whose table is `coming` waits for
    that job, and raises the job's exception."""
    folder = out_folder(spark, arguments.output)
    others = [each.table for each in SECTIONS if each.table not in coming and each.table not in journals.PARTS]
    pool = ThreadPoolExecutor(AT_ONCE + len(coming) + 1)  # One thread waits for the rebalances, to draw timelines.
    try:
        found = {*coming, *journals.PARTS, *tables.perhaps(spark, arguments.input, others)}
        asked = [pool.submit(_section_in_time, spark, arguments.input, each, coming, each.table in found) for each in SECTIONS]
        pictures = pool.submit(_timelines, spark, arguments.input, asked[SECTIONS.index(REBALANCES)], folder)
        draw.load()
        for each in as_completed(asked):
            _draw(each.result(), folder)
    finally:
        pool.shutdown(cancel_futures=True)
    shown = [each.result() for each in asked]
    if all(each.missing for each in shown):
        raise BadInput(f"{arguments.input} has no table to report: `groupmock pipeline ingest JOURNALS {arguments.input}` makes some")
    folder.write(PAGE, page(arguments.title, f"Made of {arguments.input}.", shown, sentences(shown, pictures.result())).encode())
    log.info("report: %s/%s", arguments.output.rstrip("/"), PAGE)


def _section_in_time(spark: SparkSession, lake: str, asked: Section, coming: Mapping[str, Future[None]], perhaps: bool) -> Shown:
    if asked.table in coming:
        coming[asked.table].result()
    return section(spark, lake, asked) if perhaps else Shown(asked, missing=True)


def section(spark: SparkSession, lake: str, asked: Section) -> Shown:
    """Return one section of the report with its answers. An error about its table becomes the section's text."""
    try:
        table = tables.find(spark, lake, asked.table)
        if table is None:
            return Shown(asked, missing=True)
        lines = table.count()  # Counting the rows is cheap, because Spark reads only the footers of Parquet files.
        if not lines:
            return Shown(asked, empty=True)
        if lines <= SMALL:
            table = table.coalesce(1)
        return Shown(asked, answers(table, asked.shapes) or [first_lines(table)])
    except (PySparkException, BadInput) as problem:
        return Shown(asked, trouble=str(problem).splitlines()[0])


def _timelines(spark: SparkSession, lake: str, rebalances: Future[Shown], folder: OutFolder) -> dict[str, str]:
    """Write the timelines of the worst runs into the folder, and return run -> file."""
    runs = worst_runs(rebalances.result())
    try:
        pages = timelines(spark, lake, runs) if runs else {}
    except (PySparkException, BadInput) as problem:  # A lake may lack the rows, and Spark's workers may lack a package.
        log.warning("report: no timelines: %s", str(problem).splitlines()[0])
        return {}
    files = {run: f"timeline-{place}.html" for place, run in enumerate(runs, 1) if pages.get(run) is not None}
    for run, file in files.items():
        folder.write(file, pages[run].encode())
    return files


def _draw(shown: Shown, folder: OutFolder) -> None:
    """Draw every plot as SVG for the page and as PNG beside it."""
    for place, each in enumerate(shown.answers):
        if each.plot is not None:
            figure = draw.draw(each.plot)
            name = f"{shown.section.table}-{place}"
            folder.write(f"{name}.png", draw.png(figure))
            shown.plots[place] = draw.svg(figure, name, f"{each.title}: {each.plot.axis}; the figures are in the table below")
