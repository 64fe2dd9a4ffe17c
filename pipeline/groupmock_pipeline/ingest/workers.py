"""What Python workers do, as functions for `mapInArrow`: read first lines, read all lines. Parsing is Spark's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import pyarrow as pa

from ..arrow import Work
from .lines import JournalLine, lines

FILES: Final = "file string, length bigint, modified bigint"
"""A file that is to be read: path, bytes, us since 1970 when it was changed."""
FIRST: Final = f"{FILES}, head string, head_problem string"
"""With its first line (null: there is none), or what is wrong with it."""
LINES: Final = (
    "summary boolean, file string, day string, run string, epoch bigint, newer boolean, "
    "line bigint, problem string, text string, bytes string, whole boolean"
)
"""A line of a file, or (`summary`) what there is to say of the file: SUMMARY as JSON in `text`."""
SUMMARY: Final = "day string, run string, length bigint, modified bigint, head string, lines bigint, blank bigint, problem string"
UNREADABLE: Final = "cannot be read: "
EMPTY: Final = "the file is empty"
CHANGED: Final = "changed while it was read"
TYPES: Final = {"string": pa.string(), "bigint": pa.int64(), "boolean": pa.bool_()}


def arrow(ddl: str) -> pa.Schema:
    """Such a line of DDL for Arrow."""
    return pa.schema([(name, TYPES[kind]) for name, kind in map(str.split, ddl.split(","))])


def first_lines(limit: int) -> Work:
    """FILES to FIRST."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = arrow(FIRST)
        for batch in batches:
            found = [file | _first_line(file["file"], limit) for file in batch.to_pylist()]
            yield pa.RecordBatch.from_pylist(found, schema)

    return work


def _first_line(path: str, limit: int) -> dict[str, str | None]:
    try:
        with closing(lines(path, limit)) as found:
            for first, *_ in found:
                return {"head": first.text, "head_problem": first.problem}
    except OSError as error:
        return {"head": None, "head_problem": UNREADABLE + (error.strerror or str(error))}
    return {"head": None, "head_problem": EMPTY}


def all_lines(limit: int) -> Work:
    """FIRST with day, run, epoch and newer to LINES: all but blank ones and the header, then the summary."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file in batch.to_pylist():
                yield from _read(file, limit)

    return work


def _read(file: dict[str, Any], limit: int) -> Iterator[pa.RecordBatch]:
    count = blank = 0
    problem = file["head_problem"]
    refused = f"no journal header: {problem}" if problem else None
    schema = arrow(LINES)
    try:
        with closing(lines(file["file"], limit)) as found:
            for group in found:
                if count == 0 and group[0].text != file["head"]:
                    problem = CHANGED
                    break
                count += len(group)
                kept = [line for line in group if line.text.strip() or line.problem]
                blank += len(group) - len(kept)
                broken = "" if group[-1].whole else group[-1].problem
                problem = problem or broken or None
                if not refused and kept and kept[0].number == 1:
                    del kept[0]
                yield _batch(file, kept, refused, schema)
    except OSError as error:
        problem = UNREADABLE + (error.strerror or str(error))
    yield _summary(file, count, blank, problem, schema)


def _batch(file: dict[str, Any], group: list[JournalLine], refused: str | None, schema: pa.Schema) -> pa.RecordBatch:
    numbers, texts, problems, raw, whole = zip(*group, strict=True) if group else ((), (), (), (), ())
    columns = [
        *_constants(file, False, len(group)),
        pa.array(numbers, pa.int64()),
        pa.array([problem or refused for problem in problems] if refused else problems, pa.string()),
        pa.array(texts, pa.string()),
        pa.array(raw, pa.string()),
        pa.array(whole, pa.bool_()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _summary(file: dict[str, Any], count: int, blank: int, problem: str | None, schema: pa.Schema) -> pa.RecordBatch:
    head = None if file["head_problem"] or problem == CHANGED else file["head"]
    given = {name: file[name] for name in ("day", "run", "length", "modified")}
    about = given | {"head": head, "lines": count, "blank": blank, "problem": problem}
    columns = [*_constants(file, True, 1), *([value] for value in (count, None, json.dumps(about, ensure_ascii=False), None, True))]
    return pa.RecordBatch.from_arrays([pa.array(each, field.type) for each, field in zip(columns, schema, strict=True)], schema=schema)


def _constants(file: dict[str, Any], summary: bool, size: int) -> list[pa.Array]:
    values = (summary, file["file"], file["day"], file["run"], file["epoch"], file["newer"])
    kinds = (pa.bool_(), pa.string(), pa.string(), pa.string(), pa.int64(), pa.bool_())
    return [pa.repeat(pa.scalar(value, kind), size) for value, kind in zip(values, kinds, strict=True)]
