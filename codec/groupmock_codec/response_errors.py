"""Finds the error codes of a response wherever they are: for the whole response, or for a topic, partition, group, coordinator, member or
resource.

The declarations say which fields are error codes: an int16 that Kafka's schemas call `ErrorCode`, alone or after another word. Flat Python
is generated for each response class and version at first use, as in `compiled`: a response without errors costs one comparison for each
such field. Kafka counts the same (`org.apache.kafka.common.requests.AbstractResponse.errorCounts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

import msgspec

from .declare import Field, Message, fields_of
from .emit import Source
from .kept_code import Generated, kept_code

NAME: Final = "error_code"


class ErrorCodes(msgspec.Struct, frozen=True):
    """Two functions that find the error codes in a message. `first` returns the first code that is not 0, else 0. `each` yields (path,
    code) of all of them in the same order: a struct's own codes before those inside it. A path is as in
    `topics[0].partitions[2].error_code`."""

    first: Callable[[Any], int]
    each: Callable[[Any], Iterator[tuple[str, int]]]


def errors_title(message: type[Message], version: int) -> str:
    return f"{message.__name__} v{version} errors"


@cache
def error_codes(message: type[Message], version: int) -> ErrorCodes:
    """Return the functions that find the error codes in messages of this class and version. Fields that the version lacks are ignored,
    because they are not sent."""
    title = errors_title(message, version)
    kept = kept_code(message.__module__)
    generated = kept.find(title)
    if generated is None:
        source = Source()
        with source.block("def first(x0):"):
            _look(source, message, version, "x0", None, 0)
            source.line("return 0")
        with source.block("def each(x0):"):
            _look(source, message, version, "x0", "", 0)
            source.line("yield from ()")
        generated = Generated(compile(source.text, f"{message.__module__} {title}", "exec"), ())
        kept.add(title, generated)
    names: dict[str, Any] = {}
    exec(generated.code, names)  # `exec` is safe here, because the source is made only of this package's declarations.
    return ErrorCodes(names["first"], names["each"])


def is_error_code(field: Field) -> bool:
    """True if the field has an error code of Kafka as its value."""
    return field.wire.kind == "int16" and (field.name == NAME or field.name.endswith(f"_{NAME}"))


@cache
def has_error_codes(message: type[Message], version: int) -> bool:
    """True if the struct, or a struct inside it, has error codes in this version."""
    here = [field for field in fields_of(message) if field.present(version)]
    return any(map(is_error_code, here)) or any(has_error_codes(inner, version) for inner in map(_inside, here) if inner is not None)


def _look(source: Source, message: type[Message], version: int, value: str, path: str | None, depth: int) -> None:
    """Write the source that finds the error codes of one struct. `value` is its name in the source; `path` is its own, if paths are
    wanted."""
    here = [field for field in fields_of(message) if field.present(version)]
    for field in filter(is_error_code, here):
        with source.block(f"if {value}.{field.name}:"):
            code = f"{value}.{field.name}"
            source.line(f"return {code}" if path is None else f'yield f"{path}{field.name}", {code}')
    for field in here:
        inner = _inside(field)
        if inner is None or not has_error_codes(inner, version):
            continue
        item, place, many = f"x{depth + 1}", f"i{depth + 1}", field.wire.kind == "array"
        below = None if path is None else f"{path}{field.name}[{{{place}}}]." if many else f"{path}{field.name}."
        with source.block(_over(f"{value}.{field.name}", item, place if path is not None else None, many)):
            _look(source, inner, version, item, below, depth + 1)


def _over(value: str, item: str, place: str | None, many: bool) -> str:
    """Return the head of a loop over the structs in a field: an array (null in some versions), or a single struct, which may be missing."""
    inside = f"{value} or ()" if many else f"({value},) if {value} is not None else ()"
    return f"for {item} in {inside}:" if place is None or not many else f"for {place}, {item} in enumerate({inside}):"


def _inside(field: Field) -> type[Message] | None:
    """Return the class of the structs in a field, or None if the field has no structs."""
    wire = field.wire.element_wire if field.wire.kind == "array" else field.wire
    return wire.struct if wire.kind == "struct" else None
