"""Split a request into its parts on the wire (lengths, counts, tags and values), so that one part can be spoiled and the rest stays
whole. The parts joined are what the codec writes (a test says so)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from groupmock_codec.declare import Field, Message, Wire, fields_of
from groupmock_codec.emit import CODES

NULL_TEXT: Final = b"\xff\xff"
NULL: Final = b"\xff\xff\xff\xff"
NUMBERS: Final = ("int8", "int16", "uint16", "int32", "uint32", "int64")


class EncodedPart(NamedTuple):
    """One part of an encoded request, such as a length or a value. Its `kind` is a number's wire type, bool, uuid, float64, text, raw;
    length16, length32, count32 and their compact forms (`compact length`, `compact count`, `compact bytes`); marker (of a struct that
    may be null); tag count, tag, tag size, tag value. `path` names the field."""

    kind: str
    data: bytes
    path: str


def uvarint(value: int) -> bytes:
    """Encode an unsigned varint of any size, even one that no broker accepts."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def parts_of(message: Message, version: int, flexible: bool) -> list[EncodedPart]:
    """Return the parts of a request's body in a version."""
    return list(_Cutter(version, flexible).message(message, ""))


def joined(parts: list[EncodedPart]) -> bytes:
    """Concatenate the bytes of the parts."""
    return b"".join(part.data for part in parts)


class _Cutter:
    def __init__(self, version: int, flexible: bool) -> None:
        self.version, self.flexible = version, flexible

    def message(self, message: Message, path: str) -> Iterator[EncodedPart]:
        fields = [field for field in fields_of(type(message)) if field.present(self.version)]
        for field in fields:
            if not (self.flexible and field.tagged(self.version)):
                yield from self.field(field, getattr(message, field.name), f"{path}{field.name}")
        if self.flexible:
            yield from self.tags([field for field in fields if field.tagged(self.version)], message, path)

    def tags(self, fields: list[Field], message: Message, path: str) -> Iterator[EncodedPart]:
        told = [field for field in fields if getattr(message, field.name) != field.default]
        yield EncodedPart("tag count", uvarint(len(told)), f"{path}tags")
        for field in sorted(told, key=lambda each: each.number):
            value = joined(list(self.field(field, getattr(message, field.name), field.name)))
            yield EncodedPart("tag", uvarint(field.number), f"{path}{field.name}")
            yield EncodedPart("tag size", uvarint(len(value)), f"{path}{field.name}")
            yield EncodedPart("tag value", value, f"{path}{field.name}")

    def field(self, field: Field, value: Any, path: str) -> Iterator[EncodedPart]:
        if field.wire.kind == "struct":
            if field.nullable_since is not None:
                yield EncodedPart("marker", b"\xff" if value is None else b"\1", path)
            if value is not None:
                yield from self.message(value, f"{path}.")
            return
        yield from self.value(field.wire, value, path)

    def value(self, wire: Wire, value: Any, path: str) -> Iterator[EncodedPart]:
        kind = wire.kind
        if kind == "struct":
            yield from self.message(value, f"{path}.")
        elif kind == "array":
            yield self.count(value, path)
            for place, each in enumerate(value or ()):
                yield from self.value(wire.element_wire, each, f"{path}[{place}]")
        elif kind in ("string", "bytes", "records"):
            yield from self.sized(kind, value, path)
        elif kind == "uuid":
            yield EncodedPart(kind, value, path)
        else:
            yield EncodedPart(kind, struct.pack(">" + CODES[kind], value), path)

    def count(self, value: list[Any] | None, path: str) -> EncodedPart:
        if self.flexible:
            return EncodedPart("compact count", uvarint(0 if value is None else len(value) + 1), path)
        return EncodedPart("count32", NULL if value is None else struct.pack(">i", len(value)), path)

    def sized(self, kind: str, value: str | bytes | None, path: str) -> Iterator[EncodedPart]:
        data = value.encode() if isinstance(value, str) else value
        text = kind == "string"
        if self.flexible:
            yield EncodedPart("compact length" if text else "compact bytes", uvarint(0 if data is None else len(data) + 1), path)
        elif text:
            yield EncodedPart("length16", NULL_TEXT if data is None else struct.pack(">h", len(data)), path)
        else:
            yield EncodedPart("length32", NULL if data is None else struct.pack(">i", len(data)), path)
        if data:
            yield EncodedPart("text" if text else "raw", data, path)
