"""Generated code calls these functions for uncommon cases, such as the rules for lengths (docs/kafka/seen-on-brokers.md#bad-bytes).

Nothing here is public. The common cases (one-byte varints, whole ASCII) are inlined by `emit_decode` and `emit_encode`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import Final

MAX_INT32: Final = 0x7FFFFFFF
MAX_STRING: Final = 0x7FFF
VIEWED_FROM: Final = 1024 * 1024
JAVA_TEXT: Final = "groupmock-java"
ENCODED_SURROGATE: Final = rb"\xed[\xa0-\xbf][\x80-\xbf]?"


class Refused(Exception):
    """An error in generated code, which is then turned into DecodeError or EncodeError."""


def too_many(count: int, left: int, most: int) -> str:
    """Return the reason text of TooManyElements, for a message that has `left` of `most` elements left and needs `count` more."""
    return f"{count} elements where {left} of {most} are left for the whole message"


def _replace_as_java(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are not UTF-8 as U+FFFD, like Java, for which an encoded surrogate (ED A0..BF, perhaps cut) is one character and
    not several. All that follows the first such byte is decoded here: a call for each one would take 15 s for a frame of 33 MB."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    rest = error.object[error.start :]
    return re.sub(ENCODED_SURROGATE, b"\xff", rest).decode("utf-8", "replace"), len(error.object)


codecs.register_error(JAVA_TEXT, _replace_as_java)


def read_uvarint(data: bytes, offset: int) -> tuple[int, int]:
    """Read a varint of at most five bytes as Java reads it into an int: bits above the 32nd are lost, and 2^31 or more is negative.
    Overlong forms are accepted, as in Kafka."""
    value = shift = 0
    while True:
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            raise Refused
    return as_int32(value), offset


def as_int32(value: int) -> int:
    """Return the value of the number's low 32 bits as a Java int."""
    return (value + 0x80000000 & 0xFFFFFFFF) - 0x80000000


def read_length(data: bytes, offset: int) -> tuple[int, int]:
    """Read a compact length or count, which is a varint less one; a negative result means null. A varint of 0 is null, and as in Kafka
    also a varint above 2^31. 2^31 itself, less one, is the largest int, a length that no frame has."""
    value, offset = read_uvarint(data, offset)
    return as_int32(value - 1), offset


def read_compact_text(data: bytes, offset: int) -> tuple[str, int]:
    """Read a compact string that may not be null and has at most 32767 bytes."""
    length, offset = read_length(data, offset)
    end = offset + length
    if not 0 <= length <= MAX_STRING or end > len(data):
        raise Refused
    return data[offset:end].decode("utf-8", JAVA_TEXT), end


def read_compact_text_or_null(data: bytes, offset: int) -> tuple[str | None, int]:
    """Read a compact string that may be null; any negative length means null."""
    length, after = read_length(data, offset)
    return (None, after) if length < 0 else read_compact_text(data, offset)


def read_compact_bytes(data: bytes, offset: int) -> tuple[bytes, int]:
    """Read compact bytes that may not be null."""
    length, offset = read_length(data, offset)
    end = offset + length
    if length < 0 or end > len(data):
        raise Refused
    return data[offset:end], end


def part(data: bytes, begin: int, end: int) -> bytes | memoryview:
    """Return the records of a request, as a view of the frame if they are large. A large part is a view: copying 63 MB takes 30 ms, and
    the frame is in memory anyway."""
    return memoryview(data)[begin:end] if end - begin >= VIEWED_FROM else data[begin:end]


def fills_frame(data: bytes | memoryview) -> bool:
    """True if the data is a view of at least half of the frame that it keeps in memory. Only `bytes` count, because nobody changes them."""
    return isinstance(data, memoryview) and isinstance(data.obj, bytes) and 2 * len(data) >= len(data.obj)


def read_compact_records(data: bytes, offset: int) -> tuple[bytes | memoryview, int]:
    """Read the compact records of a request, which may be a view of the frame."""
    length, offset = read_length(data, offset)
    end = offset + length
    if length < 0 or end > len(data):
        raise Refused
    return part(data, offset, end), end


def read_compact_records_or_null(data: bytes, offset: int) -> tuple[bytes | memoryview | None, int]:
    """Read the compact records of a request, which may be null or a view of the frame."""
    length, after = read_length(data, offset)
    return (None, after) if length < 0 else read_compact_records(data, offset)


def read_compact_bytes_or_null(data: bytes, offset: int) -> tuple[bytes | None, int]:
    """Read compact bytes that may be null."""
    length, after = read_length(data, offset)
    return (None, after) if length < 0 else read_compact_bytes(data, offset)


def read_counted_tags(data: bytes, offset: int, count: int) -> tuple[dict[int, bytes], int]:
    """Read a tagged section without known tags, after its count was read. The order is free, and of two tags with the same number the
    last stays. A negative count is read as none."""
    tags: dict[int, bytes] = {}
    for _ in range(count):
        tag, offset = read_uvarint(data, offset)
        size, offset = read_uvarint(data, offset)
        if size < 0 or offset + size > len(data):
            raise Refused
        tags[tag] = data[offset : offset + size]
        offset += size
    return tags, offset


def uvarint(value: int) -> bytes:
    """Return the shortest encoding of an unsigned varint."""
    if not 0 <= value <= MAX_INT32:
        raise Refused
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def text_length(length: int) -> bytes:
    """Return the length prefix of a compact string; `length` is the number of bytes plus one. Kafka's strings have at most 32767 bytes."""
    if length > MAX_STRING + 1:
        raise Refused
    return uvarint(length)


SHORT: Final = 2048
UVARINTS: Final = (*(bytes((n,)) for n in range(128)), *(bytes((n & 0x7F | 0x80, n >> 7)) for n in range(128, SHORT)))


def write_tags(known: Mapping[int, bytes], unknown: Mapping[int, bytes], declared: tuple[int, ...] = ()) -> bytes:
    """Return the encoded tagged section, in ascending order of tags. An unknown tag may not have a number that the version declares."""
    if not unknown.keys().isdisjoint(declared):
        raise Refused
    out = [uvarint(len(known) + len(unknown))]
    for tag, value in sorted({**known, **unknown}.items()):
        out += (uvarint(tag), uvarint(len(value)), value)
    return b"".join(out)
