"""Implements Kafka's wire types as construct classes, for the reference codec. They are slow and plain on purpose; nothing here serves
requests.

Each class refuses what a broker refuses (docs/kafka/seen-on-brokers.md#bad-bytes): lengths below null, null where it is not allowed,
counts beyond the bytes left, varints of more than five bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import SEEK_END, BytesIO
from typing import Any, Final, NoReturn

import construct
from construct import Construct, ConstructError, Renamed, stream_read, stream_write

from .runtime import JAVA_TEXT, MAX_INT32, MAX_STRING, as_int32, too_many

NUMBERS: Final[Mapping[str, Construct]] = {
    "bool": construct.Flag,
    "int8": construct.Int8sb,
    "int16": construct.Int16sb,
    "uint16": construct.Int16ub,
    "int32": construct.Int32sb,
    "uint32": construct.Int32ub,
    "int64": construct.Int64sb,
    "float64": construct.Float64b,
    "uuid": construct.Bytes(16),
}


def refuse(reason: str, path: str) -> NoReturn:
    """Raise construct's error with the path of the field."""
    raise ConstructError(reason, path=path)


class Overfull(ConstructError):  # type: ignore[misc]  # construct has no types
    """The message has more elements than the reader allows. `offset` is where the first of them begins."""

    offset = 0


class Elements:
    """The number of array elements and tagged fields that may still be parsed, passed to construct as the parameter `elements`."""

    def __init__(self, most: int) -> None:
        self.most = self.left = most

    def spend(self, count: int, stream: BytesIO, path: str) -> None:
        """Count elements that are about to be parsed. Raises Overfull."""
        if count > self.left:
            error = Overfull(too_many(count, self.left, self.most), path=path)
            error.offset = stream.tell()
            raise error
        self.left -= max(0, count)


ANY_NUMBER: Final = Elements(2**62)


def left(stream: BytesIO) -> int:
    """Return the number of bytes that are left in the stream."""
    here = stream.tell()
    size = stream.seek(0, SEEK_END)
    stream.seek(here)
    return size - here


class Named(Renamed):  # type: ignore[misc]  # construct has no types
    """Parses a named field: the name is added to the path, and an error records the byte at which the field began."""

    def _parse(self, stream: BytesIO, context: Any, path: str) -> Any:
        begin = stream.tell()
        try:
            return super()._parse(stream, context, path)
        except ConstructError as error:
            if not hasattr(error, "offset"):
                error.offset = begin
            raise


class Uvarint(Construct):  # type: ignore[misc]
    """A varint of at most five bytes, which is parsed as Java reads it into an int: 2^31 and more is negative. Overlong forms are
    accepted."""

    def _parse(self, stream: BytesIO, context: Any, path: str) -> int:
        value = 0
        for shift in range(0, 35, 7):
            byte: int = stream_read(stream, 1, path)[0]
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return as_int32(value)
        refuse("a varint of more than five bytes", path)

    def _build(self, obj: int, stream: BytesIO, context: Any, path: str) -> int:
        value = obj
        while value >= 0x80:
            stream_write(stream, bytes((value & 0x7F | 0x80,)), 1, path)
            value >>= 7
        stream_write(stream, bytes((value,)), 1, path)
        return obj


UVARINT: Final = Uvarint()


class Length(Construct):  # type: ignore[misc]
    """A length or count, with None for null: an int16 or int32 (negative for null), or in flexible versions a varint of n + 1."""

    def __init__(self, fixed: Construct | None) -> None:
        super().__init__()
        self.fixed = fixed

    def _parse(self, stream: BytesIO, context: Any, path: str) -> int | None:
        length: int = (self.fixed or UVARINT)._parsereport(stream, context, path)
        if self.fixed is None:
            length = as_int32(length - 1)
        return None if length < 0 else length

    def _build(self, obj: int | None, stream: BytesIO, context: Any, path: str) -> int | None:
        length = -1 if obj is None else obj
        (self.fixed or UVARINT)._build(length + (self.fixed is None), stream, context, path)
        return obj


class Sized(Construct):  # type: ignore[misc]
    """The wire type of strings (at most 32767 bytes) and bytes."""

    def __init__(self, text: bool, flexible: bool, nullable: bool) -> None:
        super().__init__()
        self.text, self.nullable = text, nullable
        self.length = Length(None if flexible else construct.Int16sb if text else construct.Int32sb)

    def _parse(self, stream: BytesIO, context: Any, path: str) -> str | bytes | None:
        length = self.length._parse(stream, context, path)
        if length is None:
            return None if self.nullable else refuse("null where null is not allowed", path)
        if self.text and length > MAX_STRING:
            refuse(f"a string of {length} bytes, {MAX_STRING} is the most", path)
        if length > left(stream):
            refuse(f"{length} bytes announced, {left(stream)} left", path)
        data: bytes = stream_read(stream, length, path)
        return data.decode("utf-8", JAVA_TEXT) if self.text else data

    def _build(self, obj: Any, stream: BytesIO, context: Any, path: str) -> Any:
        if obj is None:
            if not self.nullable:
                refuse("null where null is not allowed", path)
            self.length._build(None, stream, context, path)
            return obj
        if not isinstance(obj, str if self.text else bytes | bytearray | memoryview):
            refuse(f"{type(obj).__name__} where {'str' if self.text else 'bytes'} is needed", path)
        data = self.encoded(obj, path) if isinstance(obj, str) else bytes(obj)
        if self.text and len(data) > MAX_STRING:
            refuse(f"a string of {len(data)} bytes, {MAX_STRING} is the most", path)
        self.length._build(len(data), stream, context, path)
        stream_write(stream, data, len(data), path)
        return obj

    @staticmethod
    def encoded(text: str, path: str) -> bytes:
        """Return the text encoded as Kafka encodes strings."""
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            refuse(f"no UTF-8: {error.reason}", path)


class ArrayOf(Construct):  # type: ignore[misc]
    """The wire type of arrays, which are a count and the elements. A count above the number of bytes left is refused."""

    def __init__(self, element: Construct, flexible: bool, nullable: bool) -> None:
        super().__init__()
        self.element, self.nullable = element, nullable
        self.count = Length(None if flexible else construct.Int32sb)

    def _parse(self, stream: BytesIO, context: Any, path: str) -> list[Any] | None:
        count = self.count._parse(stream, context, path)
        if count is None:
            return None if self.nullable else refuse("null where null is not allowed", path)
        if count > left(stream):
            refuse(f"{count} elements announced, {left(stream)} bytes left", path)
        context._params.get("elements", ANY_NUMBER).spend(count, stream, path)
        return [Named(self.element, newname=f"[{index}]")._parsereport(stream, context, path) for index in range(count)]

    def _build(self, obj: Iterable[Any] | None, stream: BytesIO, context: Any, path: str) -> Any:
        if obj is None and not self.nullable:
            refuse("null where null is not allowed", path)
        elements = None if obj is None else list(obj)
        self.count._build(None if elements is None else len(elements), stream, context, path)
        for index, element in enumerate(elements or ()):
            self.element._build(element, stream, context, f"{path} -> [{index}]")
        return obj


class Marked(Construct):  # type: ignore[misc]
    """The wire type of nullable structs: an int8 marker, negative for null (docs/kafka/apis.md#wire-conventions), then the struct."""

    def __init__(self, inner: Construct) -> None:
        super().__init__()
        self.inner = inner

    def _parse(self, stream: BytesIO, context: Any, path: str) -> Any:
        marker = construct.Int8sb._parsereport(stream, context, path)
        return None if marker < 0 else self.inner._parsereport(stream, context, path)

    def _build(self, obj: Any, stream: BytesIO, context: Any, path: str) -> Any:
        construct.Int8sb._build(-1 if obj is None else 1, stream, context, path)
        if obj is not None:
            self.inner._build(obj, stream, context, path)
        return obj


class TaggedFields(Construct):  # type: ignore[misc]
    """The tagged section (KIP-482), parsed to {name: value of a known tag, number: bytes of an unknown tag}. As in Kafka, the size
    before a known field is ignored, the last of two equal tags wins and their order is free."""

    def __init__(self, known: Mapping[int, tuple[str, Construct]], misplaced: frozenset[int] = frozenset()) -> None:
        super().__init__()
        self.known = known
        self.misplaced = misplaced

    def _parse(self, stream: BytesIO, context: Any, path: str) -> dict[str | int, Any]:
        found: dict[str | int, Any] = {}
        count = UVARINT._parse(stream, context, path)
        context._params.get("elements", ANY_NUMBER).spend(count, stream, path)
        for _ in range(count):
            tag, size = UVARINT._parse(stream, context, path), UVARINT._parse(stream, context, path)
            if tag in self.known:
                name, piece = self.known[tag]
                found[name] = Named(piece, newname=name)._parsereport(stream, context, path)
            elif tag in self.misplaced:
                refuse(f"tag {tag} is declared for other versions only", path)
            elif not 0 <= size <= left(stream):
                refuse(f"{size} bytes announced for tag {tag}, {left(stream)} left", path)
            else:
                found[tag] = stream_read(stream, size, path)
        return found

    def _build(self, obj: Mapping[str | int, Any], stream: BytesIO, context: Any, path: str) -> Any:
        sections: dict[int, bytes] = {}
        for number, (name, piece) in self.known.items():
            if name in obj:
                inner = BytesIO()
                piece._build(obj[name], inner, context, f"{path} -> {name}")
                sections[number] = inner.getvalue()
        for key, value in obj.items():
            if isinstance(key, int):
                if key in self.known:
                    refuse(f"tag {key} is known and cannot be an unknown one", path)
                sections[key] = value
        UVARINT._build(len(sections), stream, context, path)
        for number, data in sorted(sections.items()):
            if not 0 <= number <= MAX_INT32:
                refuse(f"tag {number}", path)
            UVARINT._build(number, stream, context, path)
            UVARINT._build(len(data), stream, context, path)
            stream_write(stream, data, len(data), path)
        return obj
