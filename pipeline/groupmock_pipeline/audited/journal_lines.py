"""Lines of table `rows` as the lines of a journal, written by the workers to a file per run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from pyspark.sql.types import LongType, StringType, StructField, StructType

from groupmock.journal.rows import Header

from .. import schema
from ..arrow import Work

if TYPE_CHECKING:
    import pyarrow as pa

PLACE: Final = ("line",)
FILES: Final = StructType([StructField("run", StringType()), StructField("file", StringType()), StructField("rows", LongType())])
"""What was written."""
NESTED: Final = schema.of_type(dict, Any)
"""Fields of rows that a column has as JSON text."""
HEADER_NESTED: Final = schema.of_type(dict, classes=[Header])
UNFINISHED: Final = ".unfinished"


def written(folder: str) -> Work:
    """`jobs.export.lines` to FILES. A file has its name once it is whole."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark.sql.pandas.types import to_arrow_schema

        rows = (row for batch in batches for row in batch.to_pylist())
        for run, lines in groupby(rows, itemgetter("run")):
            yield pa.RecordBatch.from_pylist([_file(Path(folder), run, lines)], schema=to_arrow_schema(FILES))

    return work


def _file(folder: Path, run: str, lines: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    file, count = folder / f"{run}.jsonl", 0
    unfinished = file.with_suffix(UNFINISHED)
    with unfinished.open("wb") as out:
        for row in lines:
            out.write((header(row["more"]) if row["line"] == 1 else line(row)) + b"\n")
            count += row["line"] != 1  # the header is no row
    unfinished.replace(file)
    return {"run": run, "file": str(file), "rows": count}


def header(text: str) -> bytes:
    """The first line; its dicts are JSON in JSON."""
    told = msgspec.json.decode(text)
    return msgspec.json.encode({name: raw(value) if name in HEADER_NESTED else value for name, value in told.items()})


def line(row: Mapping[str, Any]) -> bytes:
    """A row as the journal had it, or, if it has fields that are no columns, the very line."""
    if row["more"] is not None:
        return str(row["more"]).encode()
    told = {name: raw(row[name]) if name in NESTED else row[name] for name in schema.LINE.names if row[name] is not None}
    return msgspec.json.encode(told)


def raw(text: str) -> msgspec.Raw:
    """JSON that stays as it is."""
    return msgspec.Raw(text.encode())
