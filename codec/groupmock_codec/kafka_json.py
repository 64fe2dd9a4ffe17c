"""Converts messages to and from the JSON of Kafka's own tools: camelCase names, base64 bytes, only the fields that a version has.

Tagged fields appear only if they differ from their defaults, as Kafka writes them. Unknown tagged fields have no JSON.
"""

from __future__ import annotations

import base64
import re
from functools import cache
from typing import Any, Final, TypeVar

from .declare import Message, Wire, fields_of

M = TypeVar("M", bound=Message)
Json = Any  # The type stands for the results of json.loads: dict, list, str, int, float, bool or None.
RAW: Final = ("bytes", "records")


@cache
def kafka_name(name: str) -> str:
    """Convert a field's name to Kafka's form: `throttle_time_ms` -> `throttleTimeMs`."""
    return re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), name)


def to_kafka_json(message: Message, version: int, flexible: bool, every_tag: bool = False) -> dict[str, Json]:
    """Return a message in the JSON that Kafka's JsonConverter writes for that version. `every_tag` adds tagged fields at their defaults,
    which the converter needs to read it."""
    shown: dict[str, Json] = {}
    for field in fields_of(type(message)):
        value = getattr(message, field.name)
        if field.present(version) and (every_tag or not (flexible and field.tagged(version) and value == field.default)):
            shown[kafka_name(field.name)] = _shown(field.wire, value, version, flexible, every_tag)
    return shown


def from_kafka_json(message: type[M], version: int, flexible: bool, shown: dict[str, Json]) -> M:
    """Convert the JSON of Kafka's JsonConverter to a message. A missing field gets its default. KeyError names a key that is no field."""
    fields = {kafka_name(field.name): field for field in fields_of(message) if field.present(version)}
    return message(**{fields[name].name: _value(fields[name].wire, value, version, flexible) for name, value in shown.items()})


def _shown(wire: Wire, value: Any, version: int, flexible: bool, every_tag: bool) -> Json:
    if value is None:
        return None
    if wire.kind == "array":
        return [_shown(wire.element_wire, each, version, flexible, every_tag) for each in value]
    if wire.kind == "struct":
        return to_kafka_json(value, version, flexible, every_tag)
    if wire.kind in RAW:
        return base64.b64encode(value).decode()
    if wire.kind == "uuid":
        return base64.urlsafe_b64encode(value).decode().rstrip("=")
    return value


def _value(wire: Wire, value: Json, version: int, flexible: bool) -> Any:
    if value is None:
        return None
    if wire.kind == "array":
        return [_value(wire.element_wire, each, version, flexible) for each in value]
    if wire.kind == "struct":
        return from_kafka_json(wire.struct, version, flexible, value)
    if wire.kind in RAW:
        return base64.b64decode(value)
    if wire.kind == "uuid":
        return base64.urlsafe_b64decode(value + "==")
    return value
