"""Turn the rows of table `rows` back into journal files, one file per run, in Spark's Python workers."""

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
"""The schema of the workers' reports, one line per journal file that a worker has written."""
NESTED: Final = schema.of_type(dict, Any)
"""Fields of rows that are JSON text in table `rows`."""
HEADER_NESTED: Final = schema.of_type(dict, classes=[Header])
UNFINISHED: Final = ".unfinished"


def written(folder: str) -> Work:
    """Return the function that maps the lines of `jobs.export.lines` to FILES. A file is renamed to its final name when it is complete."""

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
            out.write(journal_line(row))
            count += row["line"] != 1  # The first line of a journal is its header and not a row.
    unfinished.replace(file)
    return {"run": run, "file": str(file), "rows": count}


def journal_line(row: Mapping[str, Any]) -> bytes:
    """Return a line of `jobs.export.lines` as a journal has it, with its line end."""
    return (header(row["more"]) if row["line"] == 1 else line(row)) + b"\n"


def header(text: str) -> bytes:
    """Return the first line of a journal, made from the header of its run in table `rows`. Table `rows` has the header as JSON, in which
    the header's dicts are JSON text once more."""
    fields = msgspec.json.decode(text)
    return msgspec.json.encode({name: raw(value) if name in HEADER_NESTED else value for name, value in fields.items()})


def line(row: Mapping[str, Any]) -> bytes:
    """Return a row of table `rows` as a line of a journal. A row with fields that are no columns has its original line in `more`."""
    if row["more"] is not None:
        return str(row["more"]).encode()
    fields = {name: raw(row[name]) if name in NESTED else row[name] for name in schema.LINE.names if row[name] is not None}
    return msgspec.json.encode(fields)


def raw(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())
