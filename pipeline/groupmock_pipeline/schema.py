"""Spark's schemas, made from the journal's row classes (`groupmock.journal.rows`): nothing is typed twice.

A nested value without a fixed shape (message, embedded, fields, arguments, config) is a string with its JSON text; bytes stay base64 as in
the journal; whole numbers are 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec
from pyspark.sql.types import ArrayType, BooleanType, DataType, LongType, StringType, StructField, StructType

from groupmock.journal.rows import ROWS as ROW_CLASSES
from groupmock.journal.rows import Header, Row

KIND: Final = "kind"
PLAIN: Final[dict[type, DataType]] = {int: LongType(), str: StringType(), bool: BooleanType(), bytes: StringType()}


def spark_type(hint: Any) -> DataType:
    """The column type of a field's annotation. Raises TypeError for one that has none: then this function is to learn it."""
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
    """A class's fields as columns, in its order; `comments`: with the sentence that documents each."""
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
    """All fields of all kinds, each once. Raises TypeError where two kinds mean different types by one name."""
    fields: dict[str, StructField] = {}
    for each in classes:
        for field in struct_type(each).fields:
            if fields.setdefault(field.name, field).dataType != field.dataType:
                raise TypeError(f"{each.__name__}.{field.name} is {field.dataType}, in another kind {fields[field.name].dataType}")
    return StructType(list(fields.values()))


LINE: Final = StructType([StructField(KIND, StringType()), *union_of(ROW_CLASSES.values()).fields])
"""One line of a journal after the header, whatever its kind."""

HEADER: Final = struct_type(Header)
"""The first line of a journal."""

PLACE: Final = StructType(
    [
        StructField("day", StringType()),  # of the run's begin, UTC, 2026-11-21
        StructField("run", StringType()),  # key of the run
        StructField("file", StringType()),
        StructField("line", LongType()),  # from 1, which is the header's
    ]
)

ROWS: Final = StructType(
    [
        *PLACE.fields,
        StructField("at", LongType()),  # ns since 1970: the header's epoch_ns + t
        *LINE.fields,
        StructField("more", StringType()),  # the whole line, where it has a field that is no column here, or a newer journal's header
    ]
)
"""Table `rows`."""

TAKE: Final = "take"
TAKE_FIELD: Final = StructField(TAKE, LongType())
"""Number of the commit that brought a run's rows as they are: another one once its journal was read again."""

QUARANTINE: Final = StructType(
    [
        *PLACE.fields,
        StructField("reason", StringType()),  # why it is no row, in words
        StructField("text", StringType()),  # the line; of an over-long one the beginning; bytes that are no UTF-8 escaped
        StructField("bytes", StringType()),  # base64 of the line where it is not UTF-8
    ]
)
"""Table `quarantine`."""

NAME: Final = "name"
"""What `runs` calls the header's `run`, as `run` is the key."""

RUNS: Final = StructType(
    [
        *(field for field in PLACE.fields if field.name != "line"),
        StructField("length", LongType()),  # bytes of the file
        StructField("modified", LongType()),  # when it was changed, us since 1970
        *(StructField(NAME if field.name == "run" else field.name, field.dataType) for field in HEADER.fields),
        StructField("lines", LongType()),  # = header + rows + quarantined + duplicates + blank
        StructField("header", LongType()),  # 1, or 0: it has none that is understood
        StructField("rows", LongType()),
        StructField("quarantined", LongType()),
        StructField("duplicates", LongType()),  # good rows that `duplicate_of` has too
        StructField("blank", LongType()),
        StructField("first_at", LongType()),  # smallest and largest `at`
        StructField("last_at", LongType()),
        StructField("ended", BooleanType()),  # the last line says that the journal was closed properly
        StructField("backwards", LongType()),  # rows whose t is smaller than that of the row before
        StructField("gaps", LongType()),  # rows whose seq does not follow that of the row before
        StructField("duplicate_of", StringType()),  # the file that has all rows of this one
        StructField("problem", StringType()),  # cannot be read, empty, no header, cut: what is wrong with the file as a whole
        StructField("digest", StringType()),  # of the header; null: there is none
        TAKE_FIELD,
    ]
)
"""Table `runs`: one line per journal file, and if a file was replaced by another run's one for each."""

FILES: Final = StructType(
    [
        *(field for field in PLACE.fields if field.name != "line"),
        StructField("length", LongType()),
        StructField("modified", LongType()),
        StructField("head", StringType()),  # the header's line; null: there is none that is understood
        StructField("lines", LongType()),
        StructField("blank", LongType()),
        StructField("problem", StringType()),
    ]
)
"""What the reader of a take says of each file: the ledger is made of it."""


def fields_of(kind: str) -> tuple[str, ...]:
    """Names of a kind's fields."""
    return ROW_CLASSES[kind].__struct_fields__


def required(kind: str) -> tuple[str, ...]:
    """Fields that every row of that kind has (`seq` too: it is never 0, its default)."""
    config = msgspec.structs.fields(ROW_CLASSES[kind])
    return ("seq", *(field.encode_name for field in config if field.required))


def of_type(*types: Any, classes: Iterable[type[msgspec.Struct]] = ROW_CLASSES.values()) -> frozenset[str]:
    """Fields of rows whose annotation, null apart, is one of `types`; of a generic type its origin counts: dict, tuple."""
    return frozenset(
        name
        for each in classes
        for name, hint in get_type_hints(each).items()
        if name in each.__struct_fields__ and any(part in types or get_origin(part) in types for part in _parts(hint))
    )


def _parts(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def defaults() -> dict[str, dict[Any, tuple[str, ...]]]:
    """Field -> {default: kinds whose rows leave it out at that value}; only defaults that are not null."""
    found: dict[str, dict[Any, list[str]]] = {}
    for kind, each in ROW_CLASSES.items():
        for field in msgspec.structs.fields(each):
            value = _default(field)
            if value is not None and field.name != "seq":
                found.setdefault(field.name, {}).setdefault(value, []).append(kind)
    return {name: {value: tuple(kinds) for value, kinds in values.items()} for name, values in found.items()}


def _default(field: msgspec.structs.FieldInfo) -> Any:
    """As a column holds it: a dict as JSON text, a tuple as a tuple (an empty array)."""
    value = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
    if value is msgspec.NODEFAULT:
        return None
    return msgspec.json.encode(value).decode() if isinstance(value, dict) else value
