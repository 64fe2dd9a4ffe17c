"""Encodes and decodes signed (zigzag) varints, which only records use."""

from __future__ import annotations

from typing import Final

ONE_BYTE: Final = tuple(bytes((n << 1 if n < 64 else ((n - 128) << 1) ^ -1,)) for n in range(128))
"""The encodings of 0 to 63, followed by those of -64 to -1, so that a negative number indexes from the end."""


def zigzag(value: int) -> bytes:
    """Return the shortest encoding of a signed varint; 64-bit values are allowed."""
    if -64 <= value < 64:
        return ONE_BYTE[value]
    value = (value << 1) ^ (value >> 63)
    if value < 1 << 14:  # Most lengths and numbers in a batch are below 2^14.
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_zigzag(data: bytes, offset: int, longest: int = 5) -> tuple[int, int]:
    """Read a signed varint of at most `longest` bytes, and return it with the offset after it. ValueError if longer, IndexError if cut."""
    value = shift = 0
    for at in range(offset, offset + longest):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at + 1
        shift += 7
    raise ValueError(f"a varint of more than {longest} bytes at {offset}")
