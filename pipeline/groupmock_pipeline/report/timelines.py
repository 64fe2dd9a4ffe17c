"""Draw the timelines of a few runs out of the lake, because the journals may be gone or on another machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F

from groupmock.journal.read import JournalReader, NotAJournal
from groupmock.timeline.drawing import Drawing, written

from .. import tables
from ..arrow import map_in_arrow
from ..audited.journal_lines import journal_line
from ..jobs import export

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

PAGES: Final = "run string, page string"
ROWS_DRAWN: Final = 250_000
"""The most rows of a run of which a timeline is drawn, because a worker holds the lines of one run in memory."""


def timelines(spark: SparkSession, lake: str, runs: Sequence[str]) -> dict[str, str]:
    """Return run -> HTML page for those of the runs that are not too large. Each is drawn by one of Spark's Python workers."""
    few = F.col("run").isin(list(runs))
    ledger = tables.read(spark, lake, "runs").where(few & (F.col("rows") <= ROWS_DRAWN))
    rows = tables.read(spark, lake, "rows").where(few)
    return {row["run"]: row["page"] for row in map_in_arrow(export.lines(rows, ledger), drawn, PAGES).collect()}


def drawn(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Map the lines of `jobs.export.lines` to PAGES."""
    import pyarrow as pa

    rows = (row for batch in batches for row in batch.to_pylist())
    for run, lines in groupby(rows, itemgetter("run")):
        page = page_of(run, lines)
        yield pa.RecordBatch.from_pydict({"run": [run], "page": [page]}, pa.schema([("run", pa.string()), ("page", pa.string())]))


def page_of(run: str, lines: Iterator[Mapping[str, Any]]) -> str | None:
    """Return the timeline of one run as a page, or None if its header cannot be read."""
    drawing = Drawing()
    try:
        journal = JournalReader(BytesIO(b"".join(map(journal_line, lines))))
    except NotAJournal:
        return None
    drawing.add(run, journal, journal.header)
    return written("html", drawing.timeline())
