"""Returns keys in the iteration order of maps of Java (Kafka 4.x) and Scala 2.13 (the coordinator of Kafka 3.9, and request handlers),
filled in a given order.

They decide the order of the leader's list and of DescribeGroups, the next leader, ties of the protocol vote, and the order of topics and
partitions in responses. Every function takes the keys in the order in which they were put, and `hash_of`, which returns a key's
`hashCode()` as an unsigned 32-bit number (`hashes.java_hash` for strings, `hashes.partition_hash` for topic partitions).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any, Final, TypeVar, cast

from .hashes import scala_improve, spread_bits

K = TypeVar("K", bound=Hashable)
HashOf = Callable[[K], int]

SMALLEST_TABLE: Final = 16
SMALLEST_SPREAD: Final = 1 << 16
"""Below this number, HashMap's spread hash of an int is the int itself."""
SMALL_MAP: Final = 4  # Scala keeps immutable maps and sets of up to four entries in the order of insertion.


def table_for(size: int, table: int = SMALLEST_TABLE, scala: bool = False) -> int:
    """Return the table size of a mutable hash map that has `size` entries and had `table` buckets before. Java doubles it beyond three
    quarters, Scala when they are reached."""
    while size * 4 + scala > table * 3:
        table *= 2
    return table


def order_key(spread_hash: int, mask: int, scala: bool = False) -> int:
    """Return the sort key of a hash, for a stable sort of keys in insertion order: by bucket, and in Scala within a bucket by signed
    hash."""
    return (spread_hash & mask) << 32 | (spread_hash ^ 0x80000000) if scala else spread_hash & mask


def are_places(keys: Collection[Any], table: int) -> bool:
    """True if the keys are ints that all have buckets of their own in key order, because a small int is its own hash."""
    return not keys or (min(keys) >= 0 and max(keys) < table <= SMALLEST_SPREAD)


def java_order(keys: Iterable[K], hash_of: HashOf[K]) -> list[K]:
    """Return the keys in the order of a java.util.HashMap into which they were put."""
    held = list(dict.fromkeys(keys))
    mask = table_for(len(held)) - 1
    if hash_of is int and are_places(held, mask + 1):
        return cast(list[K], sorted(cast(list[int], held)))
    return sorted(held, key=lambda key: spread_bits(hash_of(key)) & mask)


def java_copied_order(keys: Iterable[K], hash_of: HashOf[K]) -> list[K]:
    """Return the keys in the order of a java.util.HashSet that was made from a collection; with 12 keys, or 12 times a power of two, its
    table is larger than after single puts."""
    held = list(dict.fromkeys(keys))
    mask = table_for(len(held) + 1) - 1
    return sorted(held, key=lambda key: spread_bits(hash_of(key)) & mask)


def java_computed_order(keys: Iterable[K], hash_of: HashOf[K]) -> list[K]:
    """Return the keys in the order of a java.util.HashMap that was filled by `compute`, which inserts a key at the front of its bucket."""
    return java_order(list(dict.fromkeys(keys))[::-1], hash_of)


def scala_table_order(keys: Iterable[K], hash_of: HashOf[K], table: int = SMALLEST_TABLE) -> list[K]:
    """Return the keys in the order of a scala.collection.mutable.HashMap, which is new or has grown to `table` buckets."""
    held = list(dict.fromkeys(keys))
    if len(held) < 2:  # Most requests name one partition, which needs no sorting.
        return held
    mask = table_for(len(held), table, scala=True) - 1
    return sorted(held, key=lambda key: order_key(spread_bits(hash_of(key)), mask, scala=True))


def scala_map_order(keys: Iterable[K], hash_of: HashOf[K]) -> list[K]:
    """Return the keys in the order of an immutable Scala Map or Set: up to four in the order of insertion, more by hash."""
    held = list(dict.fromkeys(keys))
    return held if len(held) <= SMALL_MAP else scala_trie_order(held, hash_of)


def scala_trie_order(keys: Iterable[K], hash_of: HashOf[K]) -> list[K]:
    """Return the keys in the order of a scala.collection.immutable.HashMap, or of a large immutable Map or Set that shrank, which is by
    hash even for few keys."""
    return _trie([(scala_improve(hash_of(key)), key) for key in dict.fromkeys(keys)], 0)


def _trie(held: list[tuple[int, K]], shift: int) -> list[K]:
    """Return the keys in the order of a trie with 5 bits per level: single entries come first, then the sub-tries."""
    if shift > 30:
        return [one for _, one in held]
    slots: dict[int, list[tuple[int, K]]] = {}
    for improved, one in held:
        slots.setdefault(improved >> shift & 31, []).append((improved, one))
    found = [slots[slot][0][1] for slot in sorted(slots) if len(slots[slot]) == 1]
    for slot in sorted(slots):
        if len(slots[slot]) > 1:
            found += _trie(slots[slot], shift + 5)
    return found
