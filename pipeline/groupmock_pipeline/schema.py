"""Spark's schemas, derived from the journal's row classes (`groupmock.journal.rows`).

A nested value without a fixed shape (message, embedded, fields, arguments, config) is its JSON text. Bytes stay base64 as in the journal,
and integers have 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec
from pyspark.sql.types import ArrayType, BooleanType, DataType, LongType, StringType, StructField, StructType

from groupmock.journal.rows import ROWS as ROW_CLASSES
from groupmock.journal.rows import Header, Row

KIND: Final = "kind"
PLAIN: Final[dict[type, DataType]] = {int: LongType(), str: StringType(), bool: BooleanType(), bytes: StringType()}


def spark_type(hint: Any) -> DataType:
    """Return the column type of a field's annotation. Raises TypeError for an annotation that this function does not know yet."""
    origin = get_origin(hint)
    if origin is Annotated:
        return spark_type(get_args(hint)[0])
    if origin in (Union, UnionType):
        (inner,) = [each for each in get_args(hint) if each is not NoneType]
        return spark_type(inner)
    if hint in PLAIN:
        return PLAIN[hint]
    if hint is Any or origin is dict:
        return StringType()
    if origin in (tuple, list):
        return ArrayType(spark_type(get_args(hint)[0]))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return struct_type(hint)
    raise TypeError(f"no Spark type for {hint!r}")


def struct_type(struct: type[msgspec.Struct], comments: bool = False) -> StructType:
    """Return a class's fields as columns in order. With `comments` each column has the sentence that documents the field."""
    hints = get_type_hints(struct, include_extras=True)
    return StructType(
        [
            StructField(name, spark_type(hints[name]), True, {"comment": _about(hints[name])} if comments else None)
            for name in struct.__struct_fields__
        ]
    )


def _about(hint: Any) -> str:
    return next((each.description or "" for each in getattr(hint, "__metadata__", ()) if isinstance(each, msgspec.Meta)), "")


def union_of(classes: Iterable[type[Row]]) -> StructType:
    """Return the fields of all kinds of journal rows as one schema. Raises TypeError if two kinds have fields of one name and different
    types."""
    fields: dict[str, StructField] = {}
    for each in classes:
        for field in struct_type(each).fields:
            if fields.setdefault(field.name, field).dataType != field.dataType:
                raise TypeError(f"{each.__name__}.{field.name} is {field.dataType}, in another kind {fields[field.name].dataType}")
    return StructType(list(fields.values()))


LINE: Final = StructType([StructField(KIND, StringType()), *union_of(ROW_CLASSES.values()).fields])
"""The columns of a journal's line after the header, of any kind."""

HEADER: Final = struct_type(Header)
"""The columns of a journal's first line."""

PLACE: Final = StructType(
    [
        StructField("day", StringType()),  # `day` is the UTC date on which the run began, such as 2026-11-21
        StructField("run", StringType()),  # `run` identifies the run of a cluster
        StructField("file", StringType()),
        StructField("line", LongType()),  # `line` counts from 1, which is the header's line
    ]
)

ROWS: Final = StructType(
    [
        *PLACE.fields,
        StructField("at", LongType()),  # `at` is in ns since 1970: the header's epoch_ns + t
        *LINE.fields,
        # `more` is the whole line, if it has a field without a column here or its journal is of a newer version
        StructField("more", StringType()),
    ]
)
"""The schema of table `rows`."""

TAKE: Final = "take"
TAKE_FIELD: Final = StructField(TAKE, LongType())
"""The column with the number of the commit that wrote a run's rows. It changes when the run's journal is read again."""

QUARANTINE: Final = StructType(
    [
        *PLACE.fields,
        StructField("reason", StringType()),  # `reason` says in words why the line is not a journal row
        # `text` is the line, or the beginning of an over-long one, with bytes that are not UTF-8 escaped
        StructField("text", StringType()),
        StructField("bytes", StringType()),  # `bytes` is the base64 of a line that is not UTF-8
    ]
)
"""The schema of table `quarantine`."""

NAME: Final = "name"
"""The name in `runs` of the header's field `run`, because the column `run` is the key."""

RUNS: Final = StructType(
    [
        *(field for field in PLACE.fields if field.name != "line"),
        StructField("length", LongType()),  # `length` is the file's size in bytes
        StructField("modified", LongType()),  # `modified` is the file's modification time in us since 1970
        *(StructField(NAME if field.name == "run" else field.name, field.dataType) for field in HEADER.fields),
        StructField("lines", LongType()),  # `lines` = header + rows + quarantined + duplicates + blank
        StructField("header", LongType()),  # `header` is 1, or 0 if the header line is missing or not understood
        StructField("rows", LongType()),
        StructField("quarantined", LongType()),
        StructField("duplicates", LongType()),  # `duplicates` counts the good rows that the file `duplicate_of` has too
        StructField("blank", LongType()),
        StructField("first_at", LongType()),  # `first_at` and `last_at` are the smallest and the largest `at` of the good rows
        StructField("last_at", LongType()),
        StructField("ended", BooleanType()),  # `ended` is true if the last line says that the journal was closed properly
        StructField("backwards", LongType()),  # `backwards` counts rows whose t is smaller than that of the row before
        StructField("gaps", LongType()),  # `gaps` counts rows whose seq does not follow that of the row before
        StructField("duplicate_of", StringType()),  # `duplicate_of` is the file that has all rows of this one
        StructField("problem", StringType()),  # `problem` is about the file as a whole: cannot be read, empty, no header, cut
        StructField("digest", StringType()),  # `digest` is that of the header line, null if there is none
        TAKE_FIELD,
    ]
)
"""The schema of table `runs`: one line per journal file, and one for each run if a file was overwritten by another run."""

FILES: Final = StructType(
    [
        *(field for field in PLACE.fields if field.name != "line"),
        StructField("length", LongType()),
        StructField("modified", LongType()),
        StructField("head", StringType()),  # `head` is the header line, null if it is missing or not understood
        StructField("lines", LongType()),
        StructField("blank", LongType()),
        StructField("problem", StringType()),
    ]
)
"""The columns that an ingest fills for each file that it reads, from which the ledger is made."""


def fields_of(kind: str) -> tuple[str, ...]:
    return ROW_CLASSES[kind].__struct_fields__


def required(kind: str) -> tuple[str, ...]:
    """Return the fields that every row of that kind has (`seq` too, because it is never 0, its default)."""
    config = msgspec.structs.fields(ROW_CLASSES[kind])
    return ("seq", *(field.encode_name for field in config if field.required))


def of_type(*types: Any, classes: Iterable[type[msgspec.Struct]] = ROW_CLASSES.values()) -> frozenset[str]:
    """Return the fields of rows whose annotation without None is one of `types`. The origin of a generic type counts: dict, tuple."""
    return frozenset(
        name
        for each in classes
        for name, hint in get_type_hints(each).items()
        if name in each.__struct_fields__ and any(part in types or get_origin(part) in types for part in _parts(hint))
    )


def _parts(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


@cache  # The result is cached, because resolving the annotations takes 10 ms, and an ingest asks for every column.
def defaults() -> Mapping[str, Mapping[Any, tuple[str, ...]]]:
    """Map each field to {default: kinds of rows that omit the field at that value}. Only defaults other than null are listed."""
    found: dict[str, dict[Any, list[str]]] = {}
    for kind, each in ROW_CLASSES.items():
        for field in msgspec.structs.fields(each):
            value = _default(field)
            if value is not None and field.name != "seq":
                found.setdefault(field.name, {}).setdefault(value, []).append(kind)
    return {name: {value: tuple(kinds) for value, kinds in values.items()} for name, values in found.items()}


def _default(field: msgspec.structs.FieldInfo) -> Any:
    """Return the default as a column holds it: a dict as JSON text, a tuple as a tuple (an empty array)."""
    value = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
    if value is msgspec.NODEFAULT:
        return None
    return msgspec.json.encode(value).decode() if isinstance(value, dict) else value
