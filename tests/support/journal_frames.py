"""Converts journals to frames of the table `rows` without the job `ingest`, for tests of the jobs that read the table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from groupmock_pipeline.schema import ROWS, defaults, fields_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY: Final = "2026-11-21"
TEXT: Final = ("message", "embedded", "fields", "arguments")
Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    """Read a journal's header and rows as JSON objects."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def frame(spark: SparkSession, folder: Path, journals: Mapping[str, Iterable[Row]]) -> DataFrame:
    """Create a frame of several journals by run name. Without a header, time begins at 0.

    A file in `folder` carries the rows, because Spark reads it faster than Python rows.
    """
    path = folder / "rows.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for run, rows in journals.items() for line in lines(run, rows))
    return spark.read.schema(ROWS).json(str(path))


def lines(run: str, rows: Iterable[Row]) -> Iterable[Row]:
    """Return the rows of one journal in the form of the table."""
    epoch, line = 0, 1
    for row in rows:
        if "epoch_ns" in row:
            epoch = row["epoch_ns"]
        else:
            line += 1
            yield _line(run, line, epoch, row)


def _line(run: str, line: int, epoch: int, row: Row) -> Row:
    values: Row = {"day": DAY, "run": run, "file": f"{run}.jsonl", "line": line, "at": epoch + row["t"], "seq": line - 1}
    values |= {name: value for name, by_value in defaults().items() for value, kinds in by_value.items() if row["kind"] in kinds}
    own = {"kind", *fields_of(row["kind"])}
    return values | {name: json.dumps(value) if name in TEXT else value for name, value in row.items() if name in own}
