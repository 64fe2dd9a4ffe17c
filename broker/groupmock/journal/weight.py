"""Computes the memory of a row in bytes, messages included, for sinks that keep rows.

The size of a frame is misleading: a protocol of three bytes on the wire is a struct, its fields and a slot in a list. `msgspec.inspect`
inspects each class of rows or messages once, and the result becomes flat code that adds up sizes. Strings that all rows share (names of
APIs and errors) count nothing. What a row shares with a group or a log counts in full, because the row may be the last to hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from sys import getsizeof
from typing import Any, Final

import msgspec
from msgspec import inspect

from .rows import ReplyRow, RequestRow

Weigher = Callable[[Any, int], int]
Text = Callable[[str, bool], str]
"""A function that takes the expression of a string and whether it may be null, and returns the expression of its size."""

NUMBER: Final = 32
HEADER: Final = getsizeof("")
LIST: Final = getsizeof([])
SLOT: Final = 9
"""The memory of one element of a list in bytes, including a share of the list's spare places."""
SMALL: Final = 256
"""The largest frame whose strings are not inspected: its bytes are counted twice instead. A string with one wide character takes four
times as much, so the whole row takes at most a third more than is counted."""
SHARED: Final = frozenset((
    "node", "api_key", "api_version", "error_code", "throttle_time_ms", "trailing_bytes",
    "api_name", "error", "before", "after", "cause", "timer", "client_host",
))  # fmt: skip
"""Fields that cost no memory, because their values are small integers, which CPython shares, or constant words of groupmock."""


def held(value: Any, enough: int) -> int:
    """Return the memory in bytes that would be freed with a value. The count stops once it exceeds `enough`."""
    kind = value.__class__
    return (WEIGHERS.get(kind) or learn(kind))(value, enough)


def learn(kind: type) -> Weigher:
    """Compile the function that computes the memory of a class's objects, and keep it in `WEIGHERS`."""
    weigher = _of_frame(kind) if kind in (RequestRow, ReplyRow) else _of_struct(kind) if issubclass(kind, msgspec.Struct) else _own_size
    WEIGHERS[kind] = weigher
    return weigher


def _of_frame(kind: type) -> Weigher:
    """Return the function that computes the memory of a row with a frame. The size of a small frame is taken for the size of its
    strings."""
    # The fixed part of a row's size covers its times, numbers, client id and frame.
    whole, fixed = _of_struct(kind), kind.__basicsize__ + 7 * NUMBER + 2 * HEADER

    def weigh(row: RequestRow | ReplyRow, enough: int) -> int:
        size, message = row.size, row.message
        if size > SMALL or row.embedded is not None or row.payloads is not None or getattr(row, "errors", None) is not None:
            return whole(row, enough)
        of_message = SMALL_ONES.get(message.__class__) or _learn_small(message.__class__)
        return fixed + 2 * size + of_message(message, enough)

    return weigh


def _learn_small(kind: type) -> Weigher:
    small = SMALL_ONES[kind] = _of_small(kind)
    return small


def _own_size(value: Any, enough: int) -> int:
    return getsizeof(value)


def _nothing(value: Any, enough: int) -> int:
    return 0


def _of_items(value: Any, enough: int) -> int:
    total = getsizeof(value)
    for each in value:
        if total > enough:
            break
        total += held(each, enough)
    return total


def _of_dict(value: dict[Any, Any], enough: int) -> int:
    total = getsizeof(value)
    for name, each in value.items():
        if total > enough:
            break
        total += held(name, enough) + held(each, enough)
    return total


WEIGHERS: Final[dict[type, Weigher]] = {
    type(None): _nothing, bool: _nothing, list: _of_items, tuple: _of_items, set: _of_items, frozenset: _of_items, dict: _of_dict,
}  # fmt: skip
"""The function that computes the memory of objects, for each class. A struct's function is added when its first value comes."""


def _of_struct(kind: type) -> Weigher:
    return _made(kind, lambda value, null: f"({value}.__sizeof__() if {value} else 0)")


def _of_small(kind: type) -> Weigher:
    """Return a function that computes memory without the text of strings, for messages whose few bytes on the wire are counted
    elsewhere."""
    return _made(kind, lambda value, null: "0" if null else str(HEADER)) if issubclass(kind, msgspec.Struct) else held


def _made(kind: type, text: Text) -> Weigher:
    """Compile the function that computes the memory of a class's objects. `text` gives the expression of a string's size."""
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    fixed, parts, more = _fields(described, "x", text)
    body = [f"total = {' + '.join([str(fixed), *parts])}", *more, "return total"]
    lines = [f"    {line}" for each in body for line in each.splitlines()]
    names: dict[str, Any] = {"held": held}
    # The source text consists of groupmock's own declarations, so `exec` is safe here.
    exec("\n".join(["def weigh(x, enough):", *lines]), names)
    weigher: Weigher = names["weigh"]
    return weigher


def _fields(described: inspect.StructType, x: str, text: Text) -> tuple[int, list[str], list[str]]:
    """Return the fixed size of a struct, expressions for the sizes of its strings, and statements that add its nested values."""
    fixed, parts, more = described.cls.__basicsize__, [], []
    for field in described.fields:
        value, (wire, null) = f"{x}.{field.name}", _bare(field.type)
        if field.name in SHARED or isinstance(wire, inspect.BoolType):
            continue
        if isinstance(wire, inspect.IntType | inspect.FloatType):
            fixed += NUMBER
        elif isinstance(wire, inspect.StrType | inspect.BytesType):
            parts.append(text(value, null))
        elif isinstance(wire, inspect.ListType | inspect.VarTupleType) and (flat := _flat(wire.item_type, text)) is not None:
            # The fixed part of all elements is added first, so that a million empty elements are not visited.
            each, strings = flat
            more.append(f"several = {value}\nif several:\n    total += {LIST} + {SLOT + each} * len(several)")
            if strings:
                more.append(f"    if total <= enough:\n        for y in several:\n            {strings}")
        else:
            more.append(f"if {value} and total <= enough: total += held({value}, enough)")
    return fixed + sum(int(part) for part in parts if part.isdecimal()), [part for part in parts if not part.isdecimal()], more


def _flat(wire: inspect.Type, text: Text) -> tuple[int, str] | None:
    """Return the fixed size of a list element, and a statement that adds the sizes of its strings. Returns None if elements
    nest values."""
    element, null = _bare(wire)
    if isinstance(element, inspect.IntType):
        return NUMBER, ""
    if isinstance(element, inspect.StrType | inspect.BytesType):
        part = text("y", null)
        return (int(part), "") if part.isdecimal() else (0, f"total += {part}")
    if null or not isinstance(element, inspect.StructType):
        return None
    kept = tuple(field for field in element.fields if field.name != TAGS)
    fixed, parts, more = _fields(inspect.StructType(element.cls, kept), "y", text)
    if more:
        return None
    adds = [f"total += {' + '.join(parts)}"] if parts else []
    adds += [f"if y.{TAGS}: total += held(y.{TAGS}, enough)"] if len(kept) < len(element.fields) else []
    return fixed, "\n            ".join(adds)


SMALL_ONES: Final[dict[type, Weigher]] = {}
"""The functions that compute the memory of messages in small frames, for each class."""
TAGS: Final = "unknown_tags"
"""A field of every struct in a message, whose dict is nearly always empty and shared."""


def _bare(wire: inspect.Type) -> tuple[inspect.Type, bool]:
    """Return a type without its metadata, and whether it may be null."""
    if isinstance(wire, inspect.Metadata):
        return _bare(wire.type)
    if isinstance(wire, inspect.UnionType):
        others = [each for each in wire.types if not isinstance(each, inspect.NoneType)]
        return (_bare(others[0])[0] if len(others) == 1 else inspect.AnyType()), len(others) < len(wire.types)
    return wire, False


MOST_FIELDS: Final = 64


def slim(value: Any, most: int) -> Any:
    """Shorten a value for a sink that cannot keep all of it. A value of at most `most` bytes stays; a text is cut to so many characters;
    of structs and dicts the small values stay in a dict; anything else becomes None."""
    if held(value, most) <= most:
        return value
    if isinstance(value, str):
        return f"{value[:most]}..."
    if isinstance(value, dict | msgspec.Struct):
        return {name: each for name, each in _items(value) if held(each, most) <= most}
    return None


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, msgspec.Struct):
        return ((name, getattr(value, name)) for name in value.__struct_fields__)
    return ((name, value[name]) for name, _ in zip(value, range(MOST_FIELDS), strict=False))
