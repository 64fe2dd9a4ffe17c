"""Computes Java's `hashCode()` of the keys that Kafka keeps in maps, and the spread hash of the maps, as unsigned 32-bit numbers.

They decide which offsets partition a group is in (Utils.abs(groupId.hashCode) % partitions) and, with `orders` and `tables`, the order of
lists in responses.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import mul
from struct import unpack
from typing import Final

MASK: Final = 0xFFFFFFFF
NO_ID: Final = bytes(16)
_CHUNK: Final = 256
_POWERS: Final = [pow(31, exponent, 1 << 32) for exponent in range(_CHUNK + 1)]


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode()` of the text: over UTF-16 code units, h = 31 h + c."""
    units: Sequence[int] = text.encode("latin-1") if text.isascii() else _utf16_units(text)
    if len(units) <= _CHUNK:
        short: int = sum(map(mul, reversed(units), _POWERS))
        return short & MASK
    value = 0
    for start in range(0, len(units), _CHUNK):  # A client may send a very long name, so the hash is computed in chunks.
        chunk = units[start : start + _CHUNK]
        value = value * _POWERS[len(chunk)] + sum(map(mul, reversed(chunk), _POWERS)) & MASK
    return value


def _utf16_units(text: str) -> tuple[int, ...]:
    raw = text.encode("utf-16-le", "surrogatepass")
    return unpack(f"<{len(raw) // 2}H", raw)


def int_hash(value: int) -> int:
    """Return Java's `Integer.hashCode()` as an unsigned 32-bit number."""
    return value & MASK


def long_hash(value: int) -> int:
    return (value ^ value >> 32) & MASK


def partition_hash(at: tuple[str, int]) -> int:
    topic, index = at
    return 31 * (31 + index) + java_hash(topic) & MASK


def uuid_hash(topic_id: bytes) -> int:
    """Return Java's `UUID.hashCode()` of a topic id of 16 bytes, which Kafka's `Uuid.hashCode()` equals."""
    return long_hash(int.from_bytes(topic_id[:8]) ^ int.from_bytes(topic_id[8:]))


def id_partition_hash(at: tuple[str, int], topic_id: bytes = NO_ID) -> int:
    """Return Kafka's `TopicIdPartition.hashCode()`; `topic_id` has the 16 bytes of the id."""
    return (31 + uuid_hash(topic_id)) * 31 + partition_hash(at) & MASK


def partition_for(group_id: str, partitions: int) -> int:
    """Return the partition of a group's id: abs(hash) mod partitions, where abs(-2^31) is 0 (Kafka's Utils.abs). It is cached, because
    every group request asks, except for ids of unusual length, which would fill the memory."""
    return _partition_for(group_id, partitions) if len(group_id) <= _CHUNK else _partition_for.__wrapped__(group_id, partitions)


@lru_cache(maxsize=4096)
def _partition_for(group_id: str, partitions: int) -> int:
    value = java_hash(group_id)
    if value & 0x80000000:
        value = (1 << 32) - value
    return 0 if value == 1 << 31 else value % partitions


def spread(text: str) -> int:
    """Return the hash of a string as Java's HashMap spreads it (HashMap.hash)."""
    return spread_bits(java_hash(text))


def spread_bits(value: int) -> int:
    """Return h ^ (h >>> 16), which Java's HashMap.hash computes from a hash code."""
    return value ^ value >> 16


def scala_improve(value: int) -> int:
    """Return the hash as Scala 2.13's immutable HashMap spreads it (scala.collection.Hashing.improve)."""
    value = value + ~(value << 9) & MASK
    value ^= value >> 14
    value = value + (value << 4) & MASK
    return value ^ value >> 10
