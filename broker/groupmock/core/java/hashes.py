"""The two hash orders that show on the wire: Java's HashMap (Kafka 4.x) and Scala 2.13's HashMap (the old coordinator).

They decide which offsets partition a group lives on (spec 1.6), the order of the leader's list and of DescribeGroups, who leads
next, and who wins a tie of the protocol vote (spec 2.7; checked-on-brokers part 1 (c), (d)1).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from operator import mul
from typing import Final, TypeVar

T = TypeVar("T")

_MASK: Final = 0xFFFFFFFF
_POWERS: Final = [pow(31, exponent, 1 << 32) for exponent in range(256)]
SMALLEST_TABLE: Final = 16
SMALL_MAP: Final = 4  # Scala keeps maps of up to four entries as they came


def java_hash(text: str) -> int:
    """`String.hashCode()` as an unsigned 32-bit number: over UTF-16 code units, h = 31 h + c."""
    units: Iterable[int] = text.encode("latin-1") if text.isascii() else _utf16_units(text)
    units = list(units)
    if len(units) > len(_POWERS):
        value = 0
        for unit in units:
            value = (31 * value + unit) & _MASK
        return value
    total: int = sum(map(mul, reversed(units), _POWERS))
    return total & _MASK


def _utf16_units(text: str) -> list[int]:
    raw = text.encode("utf-16-le", "surrogatepass")
    return [int.from_bytes(raw[at : at + 2], "little") for at in range(0, len(raw), 2)]


def spread(text: str) -> int:
    """What HashMap makes of a hash before it takes the low bits: h ^ (h >>> 16)."""
    return spread_bits(java_hash(text))


@lru_cache(maxsize=4096)
def partition_for(group_id: str, partitions: int) -> int:
    """abs(hash) mod partitions, where abs(-2^31) is 0 (Kafka's Utils.abs). Remembered: every group request asks."""
    value = java_hash(group_id)
    if value & 0x80000000:
        value = (1 << 32) - value
    return 0 if value == 1 << 31 else value % partitions


def table_for(size: int, table: int = SMALLEST_TABLE, scala: bool = False) -> int:
    """The table of a mutable hash map that holds `size` entries and had `table` buckets; it never shrinks.

    Java doubles it beyond three quarters, Scala when they are reached.
    """
    while size * 4 + scala > table * 3:
        table *= 2
    return table


def order_key(spread_hash: int, mask: int, scala: bool = False) -> int:
    """Sort by this, stable over the order of insertion: bucket by bucket; Scala sorts a bucket by its (signed) hashes."""
    return (spread_hash & mask) << 32 | (spread_hash ^ 0x80000000) if scala else spread_hash & mask


def java_order(names: Iterable[str]) -> list[str]:
    """The iteration order of a fresh java.util.HashMap into which `names` were put in that order."""
    held = list(dict.fromkeys(names))
    mask = table_for(len(held)) - 1
    return sorted(held, key=lambda name: spread(name) & mask)


def java_map_order(partitions: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """The iteration order of a fresh java.util.HashMap of TopicPartitions, put in that order."""
    held = list(dict.fromkeys(partitions))
    mask = table_for(len(held)) - 1
    return sorted(held, key=lambda one: spread_bits(_partition_hash(one, False)) & mask)


def scala_names_order(names: Iterable[str]) -> list[str]:
    """The iteration order of a fresh scala.collection.mutable.HashMap of strings."""
    held = list(dict.fromkeys(names))
    mask = table_for(len(held), scala=True) - 1
    return sorted(held, key=lambda name: order_key(spread(name), mask, scala=True))


def scala_order(names: Iterable[str]) -> list[str]:
    """The iteration order of a fresh scala.collection.immutable.HashMap (2.13) of strings."""
    return trie_order([(scala_improve(java_hash(name)), name) for name in dict.fromkeys(names)], 0)


def scala_map_order(partitions: Iterable[tuple[str, int]], with_topic_id: bool = False) -> list[tuple[str, int]]:
    """The iteration order of a fresh immutable Scala Map of TopicPartitions, or of TopicIdPartitions whose id is zero.

    As inserted up to four, then by hash.
    """
    held = list(dict.fromkeys(partitions))
    if len(held) <= SMALL_MAP:
        return held
    return trie_order([(scala_improve(_partition_hash(one, with_topic_id)), one) for one in held], 0)


def scala_table_order(
    partitions: Iterable[tuple[str, int]], with_topic_id: bool = False, table: int = SMALLEST_TABLE
) -> list[tuple[str, int]]:
    """The same for a scala.collection.mutable.HashMap, a fresh one or one that had grown to `table` buckets."""
    held = list(dict.fromkeys(partitions))
    mask = table_for(len(held), table, scala=True) - 1
    return sorted(held, key=lambda one: order_key(spread_bits(_partition_hash(one, with_topic_id)), mask, scala=True))


def _partition_hash(partition: tuple[str, int], with_topic_id: bool) -> int:
    """`hashCode()` of a TopicPartition or of a TopicIdPartition whose id is zero, as an unsigned 32-bit number."""
    return (31 * 31 if with_topic_id else 0) + partition_hash(*partition) & _MASK


def partition_hash(topic: str, index: int) -> int:
    """`hashCode()` of a TopicPartition, as an unsigned 32-bit number."""
    return 31 * (31 + index) + java_hash(topic) & _MASK


def trie_order(held: list[tuple[int, T]], shift: int) -> list[T]:
    """A trie of 5 bits a level: single entries first, then the sub-tries."""
    if shift > 30:
        return [one for _, one in held]
    slots: dict[int, list[tuple[int, T]]] = {}
    for improved, one in held:
        slots.setdefault(improved >> shift & 31, []).append((improved, one))
    found = [slots[slot][0][1] for slot in sorted(slots) if len(slots[slot]) == 1]
    for slot in sorted(slots):
        if len(slots[slot]) > 1:
            found += trie_order(slots[slot], shift + 5)
    return found


def scala_improve(value: int) -> int:
    """What Scala's immutable HashMap makes of a hash."""
    value = value + ~(value << 9) & _MASK
    value ^= value >> 14
    value = value + (value << 4) & _MASK
    return value ^ value >> 10


def spread_bits(value: int) -> int:
    """h ^ (h >>> 16)."""
    return value ^ value >> 16
