"""The reference codec turns declarations, per version, into construct objects. It is slow, and its errors name the field.

`layout(cls, version, flexible)` returns the construct object; `decode` and `encode` use it for messages. Tests compare the compiled codec
with it, and the compiled codec uses it to explain what it refused. construct is imported only here and in `primitives`.
"""

from __future__ import annotations

import re
from functools import cache
from io import BytesIO
from typing import Any, TypeVar

import construct
from construct import Construct, ConstructError

from .declare import TAGS, Field, Message, Wire, fields_of, misplaced_tags
from .errors import DecodeError, EncodeError, Place, TooManyElements
from .primitives import NUMBERS, ArrayOf, Elements, Marked, Named, Overfull, Sized, TaggedFields, refuse

M = TypeVar("M", bound=Message)


@cache
def layout(message: type[Message], version: int, flexible: bool) -> Construct:
    """Return a construct object for one version of a message, which parses to and builds from a dict of the fields (tags under
    `unknown_tags`)."""
    pieces = [Named(_piece(field, version, flexible), newname=field.name) for field in _untagged(message, version, flexible)]
    if flexible:
        known = {
            field.number: (field.name, _piece(field, version, flexible))
            for field in fields_of(message)
            if field.present(version) and field.tagged(version)
        }
        pieces.append(Named(TaggedFields(known, misplaced_tags(message, version)), newname=TAGS))
    return construct.Struct(*pieces)


def _untagged(message: type[Message], version: int, flexible: bool) -> list[Field]:
    return [field for field in fields_of(message) if field.present(version) and not (flexible and field.tagged(version))]


def _piece(field: Field, version: int, flexible: bool) -> Construct:
    return _of(field.wire, version, flexible, field.nullable(version))


def _of(wire: Wire, version: int, flexible: bool, nullable: bool) -> Construct:
    if wire.kind in NUMBERS:
        return NUMBERS[wire.kind]
    if wire.kind == "array":
        return ArrayOf(_of(wire.element_wire, version, flexible, False), flexible, nullable)
    if wire.kind == "struct":
        inner = layout(wire.struct, version, flexible)
        return Marked(inner) if nullable else inner
    return Sized(wire.kind == "string", flexible, nullable)


def decode(message: type[M], version: int, flexible: bool, data: bytes, max_elements: int | None = None) -> tuple[M, int]:
    """Decode a message, and return it with the offset after it. DecodeError names field and offset, TooManyElements the array without
    its indexes."""
    stream = BytesIO(data)
    limits = {} if max_elements is None else {"elements": Elements(max_elements)}
    try:
        found = layout(message, version, flexible).parse_stream(stream, **limits)
    except Overfull as error:
        path = re.sub(r"\[\d+\]", "[]", _path(error))
        raise TooManyElements(f"{message.__name__} v{version} cannot be read", Place(_reason(error), path, error.offset)) from None
    except ConstructError as error:
        place = Place(_reason(error), _path(error), getattr(error, "offset", stream.tell()))
        raise DecodeError(f"{message.__name__} v{version} cannot be read", place) from None
    return _message(message, found, version, flexible), stream.tell()


def encode(message: Message, version: int, flexible: bool) -> bytes:
    """Encode a message in one version. EncodeError names the field."""
    cls = type(message)
    try:
        plain = _plain(cls, message, version, flexible, "(building)")
        data: bytes = layout(cls, version, flexible).build(plain)
    except ConstructError as error:
        raise EncodeError(f"{cls.__name__} v{version} cannot be written", Place(_reason(error), _path(error))) from None
    return data


def why_not_decoded(message: type[Message], version: int, flexible: bool, data: bytes) -> Place:
    """Return the first place at which the bytes are not a valid message."""
    try:
        decode(message, version, flexible, data)
    except DecodeError as error:
        return error.place
    return Place("refused by the compiled form alone: a defect of groupmock_codec")


def why_not_encoded(message: type[Message], version: int, flexible: bool, value: Message) -> Place:
    """Return the first field that cannot be encoded in this version."""
    if type(value) is not message:
        return Place(f"{type(value).__name__} where {message.__name__} is needed")
    try:
        encode(value, version, flexible)
    except EncodeError as error:
        return error.place
    return Place("refused by the compiled form alone: a defect of groupmock_codec")


def _message(message: type[M], found: Any, version: int, flexible: bool) -> M:
    """Convert the dicts that construct has parsed to messages. Fields that the version lacks keep their defaults."""
    values = dict(found.items())
    values.pop("_io", None)
    tags = values.pop(TAGS, {})
    values |= {name: value for name, value in tags.items() if isinstance(name, str)}
    wires = {field.name: field.wire for field in fields_of(message)}
    made = {name: _value(wires[name], value, version, flexible) for name, value in values.items()}
    unknown = {number: value for number, value in tags.items() if isinstance(number, int)}
    return message(**made, **({TAGS: unknown} if unknown else {}))


def _value(wire: Wire, value: Any, version: int, flexible: bool) -> Any:
    if value is None:
        return None
    if wire.kind == "struct":
        return _message(wire.struct, value, version, flexible)
    if wire.kind == "array" and wire.element_wire.kind == "struct":
        return [_message(wire.element_wire.struct, each, version, flexible) for each in value]
    return value


def _plain(cls: type[Message], message: Any, version: int, flexible: bool, path: str) -> dict[str, Any]:
    """Convert messages to the dicts from which construct builds bytes. Fields that the version lacks are refused unless they are
    ignorable."""
    if type(message) is not cls:
        refuse(f"{type(message).__name__} where {cls.__name__} is needed", path)
    plain: dict[str, Any] = {}
    tags: dict[str | int, Any] = {}
    tags.update(message.unknown_tags.items())
    if tags and not flexible:
        refuse("tagged fields in a version that has none", f"{path} -> {TAGS}")
    for field in fields_of(cls):
        value, here = getattr(message, field.name), f"{path} -> {field.name}"
        if not field.present(version):
            if not field.ignorable and value != field.default:
                refuse(f"version {version} has no such field and {value!r} may not be lost", here)
        elif flexible and field.tagged(version):
            if value != field.default:
                tags[field.name] = _plain_value(field.wire, value, version, flexible, here)
        else:
            plain[field.name] = _plain_value(field.wire, value, version, flexible, here)
    return plain | ({TAGS: tags} if flexible else {})


def _plain_value(wire: Wire, value: Any, version: int, flexible: bool, path: str) -> Any:
    if value is None:
        if wire.kind not in ("array", "string", "bytes", "records", "struct"):
            refuse("null where null is not allowed", path)
        return None
    if wire.kind == "struct":
        return _plain(wire.struct, value, version, flexible, path)
    if wire.kind == "array":
        if not isinstance(value, list | tuple):
            refuse(f"{type(value).__name__} where list is needed", path)
        element = wire.element_wire
        return [_plain_value(element, each, version, flexible, f"{path} -> [{index}]") for index, each in enumerate(value)]
    if wire.kind == "uuid" and len(value) != 16:
        refuse(f"{len(value)} bytes where a uuid has 16", path)
    return value


def _reason(error: ConstructError) -> str:
    text = re.sub(r"^Error in path [^\n]*\n", "", str(error))
    return text.strip().splitlines()[0] if text.strip() else type(error).__name__


def _path(error: ConstructError) -> str:
    """Convert construct's path `(parsing) -> protocols -> [2] -> metadata` to `protocols[2].metadata`."""
    parts = (getattr(error, "path", None) or "").split(" -> ")[1:]
    return re.sub(r"\.\[", "[", ".".join(parts))
