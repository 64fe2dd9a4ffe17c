"""An independent reader: every line of journals by Python's own JSON, against the row that the lake has of it; no Spark, no columns.

A row must say what its line says: each field of the line, and of fields that the line leaves out null or the kind's default. A line that is
not in `rows` must be its file's header, blank or in `quarantine`; a file's rows may all be in the file that it is a copy of.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import zstandard

from groupmock.journal.rows import ROWS as ROW_CLASSES
from groupmock_pipeline import tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN: Final = ("day", "run", "file", "line", "at", "more")
"""Columns that are not fields of a line."""
BATCH: Final = 20
"""Files whose rows are held at a time."""


def opened(path: Path) -> list[str]:
    """A journal's lines."""
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    elif data.startswith(b"\x28\xb5\x2f\xfd"):
        data = zstandard.ZstdDecompressor().stream_reader(data).read()
    return data.decode().removesuffix("\n").split("\n")


def compared(spark: SparkSession, journals: Path, lake: str) -> Iterator[str]:
    """What differs, in words; the last says how much was compared."""
    runs = {
        row["file"]: row for row in tables.read(spark, lake, "runs").select("file", "run", "epoch_ns", "duplicate_of", "rows").collect()
    }
    whole = [path for path in sorted(journals.rglob("*.jsonl*")) if str(path) in runs]
    rows_seen = 0
    for start in range(0, len(whole), BATCH):
        some = whole[start : start + BATCH]
        names = [str(path) for path in some]
        rows = tables.read(spark, lake, "rows")
        found: dict[tuple[str, int], dict[str, Any]] = {}
        for row in rows.where(rows["file"].isin(names)).toArrow().to_pylist():
            key = (row["file"], row["line"])
            if key in found:
                yield f"{key}: twice in rows"
            found[key] = row
        broken = tables.read(spark, lake, "quarantine").select("file", "line")
        aside = {(row["file"], row["line"]) for row in broken.where(broken["file"].isin(names)).collect()}
        rows_seen += len(found)
        for path in some:
            yield from _file(path, found, aside, runs[str(path)].asDict())
    yield f"compared {rows_seen} rows of {len(whole)} files"


def _file(
    path: Path, found: Mapping[tuple[str, int], dict[str, Any]], aside: Set[tuple[str, int]], run: Mapping[str, Any]
) -> Iterator[str]:
    try:
        lines = opened(path)
    except (OSError, EOFError, UnicodeDecodeError, zstandard.ZstdError) as broken:
        yield f"note: {path.name} is not for a plain reader: {broken}"
        return
    for number, text in enumerate(lines, 1):
        key = (str(path), number)
        if key in found:
            yield from (f"{path.name}:{number}: {problem}" for problem in _row(found[key], text, run["epoch_ns"]))
        elif number > 1 and text.strip() and key not in aside and run["duplicate_of"] is None:
            yield f"{path.name}:{number}: neither in rows nor in quarantine: {text[:80]}"


def _row(row: Mapping[str, Any], text: str, epoch: int) -> Iterator[str]:
    try:
        said = json.loads(text)
    except ValueError as error:
        yield f"a row of what is no JSON: {error}"
        return
    if row["at"] != epoch + said["t"]:
        yield f"at is {row['at']}, not {epoch} + {said['t']}"
    defaults = _defaults(said["kind"])
    for name, value in row.items():
        if name in OWN:
            continue
        wanted = said.get(name)
        if wanted is None:
            wanted = defaults.get(name)
        if not _same(value, wanted):
            yield f"{name} is {value!r}, the line has {wanted!r}"
    unknown = {name for name, value in said.items() if name not in row and value is not None}
    if unknown and row["more"] is None:
        yield f"more is null, and the line has {unknown}"


def _defaults(kind: str) -> dict[str, Any]:
    found = {}
    for field in msgspec.structs.fields(ROW_CLASSES[kind]):
        made = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
        found[field.name] = None if made is msgspec.NODEFAULT or field.name == "seq" else msgspec.to_builtins(made)
    return found


def _same(column: Any, said: Any) -> bool:
    """A nested value without a fixed shape is JSON text in a column, and may have any order of its fields."""
    if column is None or said is None:
        return column is None and said is None
    if isinstance(column, str) and not isinstance(said, str):
        return bool(json.loads(column) == said)
    return bool(_without_nulls(column) == _without_nulls(said))


def _without_nulls(value: Any) -> Any:
    """A struct in a list has all its fields, the line has those that say something."""
    if isinstance(value, list | tuple):
        return [_without_nulls(each) for each in value]
    return {name: each for name, each in value.items() if each is not None} if isinstance(value, dict) else value
