"""What a row holds in memory, in bytes, messages included: what a sink that keeps rows counts.

A frame's size says little: a protocol of three bytes on the wire is a struct, its fields and a slot in a list. A class of rows or
messages is looked at once, by `msgspec.inspect`, and becomes flat code that adds up sizes. Strings that all rows share (names of APIs, of
errors) count for nothing; what a row shares with a group or a log counts in full, as it may be the last to hold it.
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
"""(expression of a string, may it be null) -> expression of what it has."""

NUMBER: Final = 32
HEADER: Final = getsizeof("")
LIST: Final = getsizeof([])
SLOT: Final = 9
"""In a list, which keeps some for later."""
SMALL: Final = 256
"""Bytes of a frame up to which its strings are not looked at but counted twice: a string with one wide character takes four times as much,
and the row as a whole even then at most a third more than is said."""
SHARED: Final = frozenset((
    "node", "api_key", "api_version", "error_code", "throttle_time_ms", "trailing_bytes",
    "api_name", "error", "before", "after", "cause", "timer", "client_host",
))  # fmt: skip
"""Fields whose values are small integers, of which CPython has one each, or words that are ours."""


def held(value: Any, enough: int) -> int:
    """Bytes that a value keeps alive. Whatever is above `enough` is only said to be: counting ends there."""
    kind = value.__class__
    return (WEIGHERS.get(kind) or learn(kind))(value, enough)


def learn(kind: type) -> Weigher:
    """What weighs values of this class, kept in `WEIGHERS`."""
    weigher = _of_frame(kind) if kind in (RequestRow, ReplyRow) else _of_struct(kind) if issubclass(kind, msgspec.Struct) else _own_size
    WEIGHERS[kind] = weigher
    return weigher


def _of_frame(kind: type) -> Weigher:
    """Of the row of a frame. Of a small one, as most are, the frame's size says what its strings have."""
    whole, fixed = _of_struct(kind), kind.__basicsize__ + 7 * NUMBER + 2 * HEADER  # times, numbers, client id, frame

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
"""By class; those of structs are added when the first of them comes."""


def _of_struct(kind: type) -> Weigher:
    return _made(kind, lambda value, null: f"({value}.__sizeof__() if {value} else 0)")


def _of_small(kind: type) -> Weigher:
    """As `_of_struct`, but of strings their headers alone: for messages whose bytes on the wire are few and known."""
    return _made(kind, lambda value, null: "0" if null else str(HEADER)) if issubclass(kind, msgspec.Struct) else held


def _made(kind: type, text: Text) -> Weigher:
    """A function made for this class. `text`: the expression for what a string has."""
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    fixed, parts, more = _fields(described, "x", text)
    body = [f"total = {' + '.join([str(fixed), *parts])}", *more, "return total"]
    lines = [f"    {line}" for each in body for line in each.splitlines()]
    names: dict[str, Any] = {"held": held}
    exec("\n".join(["def weigh(x, enough):", *lines]), names)  # made of our declarations only
    weigher: Weigher = names["weigh"]
    return weigher


def _fields(described: inspect.StructType, x: str, text: Text) -> tuple[int, list[str], list[str]]:
    """(bytes that every one has, expressions for its strings, statements for what it nests)."""
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
            # The fixed part of all elements first: of a million empty ones not one is looked at.
            each, strings = flat
            more.append(f"several = {value}\nif several:\n    total += {LIST} + {SLOT + each} * len(several)")
            if strings:
                more.append(f"    if total <= enough:\n        for y in several:\n            {strings}")
        else:
            more.append(f"if {value} and total <= enough: total += held({value}, enough)")
    return fixed + sum(int(part) for part in parts if part.isdecimal()), [part for part in parts if not part.isdecimal()], more


def _flat(wire: inspect.Type, text: Text) -> tuple[int, str] | None:
    """Of elements that nest nothing: bytes that each has, and a statement that adds what `y` has beside them. None: they nest something."""
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
"""As `WEIGHERS`, of messages in small frames."""
TAGS: Final = "unknown_tags"
"""A dict in every struct of a message, nearly always empty and shared."""


def _bare(wire: inspect.Type) -> tuple[inspect.Type, bool]:
    """Without what is said about it; and whether it may be null."""
    if isinstance(wire, inspect.Metadata):
        return _bare(wire.type)
    if isinstance(wire, inspect.UnionType):
        others = [each for each in wire.types if not isinstance(each, inspect.NoneType)]
        return (_bare(others[0])[0] if len(others) == 1 else inspect.AnyType()), len(others) < len(wire.types)
    return wire, False


MOST_FIELDS: Final = 64


def slim(value: Any, most: int) -> Any:
    """For who cannot keep the whole: what has at most `most` bytes as it is, texts cut to so many characters, of structs and dicts a dict
    of what is small in them, of anything else nothing (None)."""
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
