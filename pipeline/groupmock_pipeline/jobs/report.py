"""One HTML page of everything that the lake has, with plots and tables; the plots as PNG beside it.

    groupmock pipeline report LAKE FOLDER

Writes FOLDER/report.html (one file, nothing from elsewhere) and FOLDER/TABLE-N.png. A table that the lake lacks gets a sentence that says
which job makes it.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException

from .. import tables
from ..errors import BadInput
from ..report import draw
from ..report.ask import answers, first_lines
from ..report.page import Shown, page
from ..report.sections import SECTIONS
from ..report.shapes import Excerpt, Section

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OUTPUT: Final = "the folder to write report.html and the plots into (made if it is not there)"
PAGE: Final = "report.html"

log = logging.getLogger("groupmock_pipeline")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("--title", default="groupmock: report", metavar="TEXT", help="title of the page")


def run(spark: SparkSession, arguments: argparse.Namespace) -> None:
    """Ask the lake section by section, then write."""
    folder = Path(arguments.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise BadInput(f"{folder}: {problem.strerror}; name a folder that can be written") from None
    shown = [section(spark, arguments.input, each) for each in SECTIONS]
    if all(each.missing for each in shown):
        raise BadInput(f"{arguments.input} has no table to report: `groupmock pipeline ingest JOURNALS {arguments.input}` makes some")
    for each in shown:
        _draw(each, folder)
    (folder / PAGE).write_text(page(arguments.title, f"Made of {arguments.input}.", shown), encoding="utf-8")
    log.info("report: %s", folder / PAGE)


def section(spark: SparkSession, lake: str, asked: Section) -> Shown:
    """One section with its answers; what goes wrong with its table is said in its place."""
    if not tables.exists(spark, lake, asked.table):
        return Shown(asked, missing=True)
    try:
        table = tables.read(spark, lake, asked.table)
        found = answers(table, asked.shapes) or [first_lines(table)]
        if not any(each.rows for each in found) and table.isEmpty():
            return Shown(asked, empty=True)
        return Shown(asked, found)
    except (PySparkException, BadInput) as problem:
        return Shown(asked, trouble=str(problem).splitlines()[0])


def _draw(shown: Shown, folder: Path) -> None:
    """Every plot as SVG for the page and as PNG beside it."""
    for place, each in enumerate(shown.answers):
        if each.plot is not None:
            figure = draw.draw(each.plot)
            name = f"{shown.section.table}-{place}"
            (folder / f"{name}.png").write_bytes(draw.png(figure))
            shown.plots[place] = draw.svg(figure, name, f"{each.title}: {each.plot.axis}; the figures are in the table below")
