"""Between a script's JSON and the codec's messages: requests are built of it, answers turned into it. Folded once per class and version."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

from groupmock_codec.declare import Field, Message, fields_of

from .script import Json

Resolve = Callable[[dict[str, Json]], Json]
BINARY: Final = frozenset({"bytes", "records", "uuid"})
NULL_NOT_ALLOWED: Final = {"!": "null where this version has none"}
"""What an answer shows for a null that could not be written."""


class ScriptError(Exception):
    """The script says what no request can carry."""


class _Slot(NamedTuple):
    name: str
    kind: str  # "struct", "structs", "scalars", "binary", "scalar"
    element: type[Message] | None
    nullable: bool
    binary_elements: bool


def binary(data: bytes) -> Json:
    """Bytes as JSON."""
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


@cache
def _names(cls: type[Message]) -> frozenset[str]:
    return frozenset(field.name for field in fields_of(cls))


# -- requests ----------------------------------------------------------------------------------------------------------


def build(cls: type[Message], version: int, values: dict[str, Json], resolve: Resolve) -> Message:
    """The message. Fields that this version has not are left out; names that the class never has are errors."""
    slots = _slots(cls, version)
    made: dict[str, Any] = {}
    for name, value in values.items():
        slot = slots.get(name)
        if slot is None:
            if name not in _names(cls):
                raise ScriptError(f"{cls.__name__} has no field {name!r}: it has {', '.join(sorted(_names(cls)))}")
            continue
        found = _value(slot, version, value, resolve)
        if found is not None or slot.nullable:
            made[name] = found
    return cls(**made)


def _value(slot: _Slot, version: int, value: Json, resolve: Resolve) -> Any:
    kind = slot.kind
    if kind == "structs":
        assert slot.element is not None
        if isinstance(value, dict):
            value = resolve(value)
        return value if value is None else [build(slot.element, version, each, resolve) for each in value]
    if kind == "struct" and isinstance(value, dict) and "$" not in value:
        assert slot.element is not None
        return build(slot.element, version, value, resolve)
    if isinstance(value, dict):
        return resolve(value)
    if kind == "scalars" and value is not None:
        found = [resolve(each) if isinstance(each, dict) else each for each in value]
        return [each for each in found if each is not None]
    return value


def unbinary(value: Json) -> Json:
    """A JSON value as a request field takes it: {"bytes": ...} becomes bytes."""
    return b64decode(value["bytes"]) if isinstance(value, dict) and "bytes" in value else value


# -- answers -----------------------------------------------------------------------------------------------------------

AsJson = Callable[[Any], Json]


@cache
def as_json(cls: type[Message], version: int) -> Callable[[Any], dict[str, Json]]:
    """message -> JSON with the fields that its version has, and nothing else."""
    parts = [(slot.name, _part(slot, version)) for slot in _slots(cls, version).values()]
    straight = tuple((name, part) for name, part in parts)

    def show(message: Any) -> dict[str, Json]:
        return {name: getattr(message, name) if part is None else part(getattr(message, name)) for name, part in straight}

    return show


def _part(slot: _Slot, version: int) -> AsJson | None:
    """How a field is shown; None: as it is."""
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
