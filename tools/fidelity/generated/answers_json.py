"""Convert answers to JSON with the fields of their version. Folded once per class and version."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

from groupmock_codec.declare import Field, Message, fields_of

Json = Any
BINARY: Final = frozenset({"bytes", "records", "uuid"})
NULL_NOT_ALLOWED: Final = {"!": "null where this version has none"}
"""Stands in an answer for a null that its version cannot encode."""


class _Slot(NamedTuple):
    name: str
    kind: str  # The kind is one of "struct", "structs", "scalars", "binary" and "scalar".
    element: type[Message] | None
    nullable: bool
    binary_elements: bool


def binary(data: bytes) -> Json:
    """Encode bytes as JSON in base64."""
    return {"bytes": b64encode(data).decode()}


def _slot(field: Field, version: int) -> _Slot:
    wire, nullable = field.wire, field.nullable(version)
    if wire.kind == "array":
        inner = wire.element_wire
        if inner.kind == "struct":
            return _Slot(field.name, "structs", inner.struct, nullable, False)
        return _Slot(field.name, "scalars", None, nullable, inner.kind in BINARY)
    if wire.kind == "struct":
        return _Slot(field.name, "struct", wire.struct, nullable, False)
    return _Slot(field.name, "binary" if wire.kind in BINARY else "scalar", None, nullable, False)


@cache
def _slots(cls: type[Message], version: int) -> dict[str, _Slot]:
    return {field.name: _slot(field, version) for field in fields_of(cls) if field.present(version)}


def unbinary(value: Json) -> Json:
    """Decode the result of `binary`, and return any other value unchanged."""
    return b64decode(value["bytes"]) if isinstance(value, dict) and "bytes" in value else value


AsJson = Callable[[Any], Json]


@cache
def as_json(cls: type[Message], version: int) -> Callable[[Any], dict[str, Json]]:
    """Return a function that converts a message to JSON with exactly the fields of this version."""
    parts = [(slot.name, _part(slot, version)) for slot in _slots(cls, version).values()]
    straight = tuple((name, part) for name, part in parts)

    def show(message: Any) -> dict[str, Json]:
        return {name: getattr(message, name) if part is None else part(getattr(message, name)) for name, part in straight}

    return show


def _part(slot: _Slot, version: int) -> AsJson | None:
    """Return the function that converts a field, or None if the value is used unchanged."""
    if slot.kind in ("structs", "struct"):
        return _struct_part(slot, version)
    if slot.kind == "binary":
        return lambda value: _null(slot) if value is None else {"bytes": b64encode(value).decode()}
    if slot.binary_elements:
        return lambda value: _null(slot) if value is None else [binary(each) for each in value]
    return None if slot.nullable else lambda value: NULL_NOT_ALLOWED if value is None else value


def _struct_part(slot: _Slot, version: int) -> AsJson:
    assert slot.element is not None
    show = as_json(slot.element, version)
    if slot.kind == "struct":
        return lambda value: _null(slot) if value is None else show(value)
    return lambda value: _null(slot) if value is None else [show(each) for each in value]


def _null(slot: _Slot) -> Json:
    return None if slot.nullable else NULL_NOT_ALLOWED
