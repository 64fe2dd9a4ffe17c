"""The order in which Kafka's handlers give back partitions that they kept in Scala maps: as inserted up to four, then by hash."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

from .hashes import SMALL_MAP, order_key, partition_hash, scala_improve, spread_bits, table_for, trie_order

K = TypeVar("K", bound=Hashable)
HashOf = Callable[[K], int]

MASK: Final = 0xFFFFFFFF
LONG_MAP_FACTOR: Final = 0x85EBCA6B
LONG_MAP_ROOM: Final = 16
LEAST_MASK: Final = 7


class Place(NamedTuple):
    """One partition as a request names it: by `name`, or by `topic_id` (then `name` is what the id stands for, "" if nothing)."""

    name: str
    topic_id: bytes
    partition: int


def by_name(place: Place) -> int:
    """`hashCode()` of a TopicPartition, as an unsigned 32-bit number."""
    return partition_hash(place.name, place.partition)


def by_id(place: Place) -> int:
    """`hashCode()` of a TopicIdPartition."""
    halves = int.from_bytes(place.topic_id[:8]) ^ int.from_bytes(place.topic_id[8:])
    return (31 + ((halves >> 32) ^ halves & MASK)) * 31 + by_name(place) & MASK


def table_order(keys: Iterable[K], hash_of: HashOf[K]) -> list[K]:
    """The iteration order of a scala.collection.mutable.HashMap into which `keys` were put one by one."""
    held = list(dict.fromkeys(keys))
    mask = table_for(len(held), scala=True) - 1
    return sorted(held, key=lambda key: order_key(spread_bits(hash_of(key)), mask, scala=True))


def map_order(keys: Iterable[K], hash_of: HashOf[K]) -> list[K]:
    """The iteration order of an immutable Scala Map."""
    held = list(dict.fromkeys(keys))
    return held if len(held) <= SMALL_MAP else trie_order([(scala_improve(hash_of(key)), key) for key in held], 0)


def set_order(keys: Iterable[K], hash_of: HashOf[K]) -> list[K]:
    """What is left of a large immutable Scala set or map: in the order of its hash trie, however few they are."""
    return trie_order([(scala_improve(hash_of(key)), key) for key in dict.fromkeys(keys)], 0)


@lru_cache(maxsize=256)
def long_map_order(count: int) -> tuple[int, ...]:
    """The order in which a copied scala.collection.mutable.LongMap has the keys 0 .. count - 1.

    Kafka 2.8 copies its metadata with every change. (Three or four partitions of a topic that was the last to be made still
    stand otherwise there, until the next change.)
    """
    if count <= 0:
        return ()
    keys = list(range(1, count))
    for size in (LONG_MAP_ROOM, count):
        keys = _long_map(keys, max((1 << (size - 1).bit_length()) - 1, LEAST_MASK))
    return (0, *keys)


def _long_map(keys: Iterable[int], mask: int) -> list[int]:
    """Keys but 0 (which such a map keeps apart), put into a table of mask + 1 places that doubles when it is half full."""
    table: dict[int, int] = {}
    for key in keys:
        table[_open_place(table, key, mask)] = key
        if 2 * len(table) > mask:
            old, mask = [table[place] for place in sorted(table)], 2 * mask + 1
            table = {}
            for held in old:
                table[_open_place(table, held, mask)] = held
    return [table[place] for place in sorted(table)]


def _open_place(table: Mapping[int, int], key: int, mask: int) -> int:
    mixed = (key ^ key >> 16) * LONG_MAP_FACTOR & MASK
    place, step = (mixed ^ mixed >> 13) & mask, 0
    while place in table:
        step += 1
        place = place + 2 * (step + 1) * step - 3 & mask
    return place


def compute_order(keys: Iterable[K], hash_of: HashOf[K]) -> list[K]:
    """The iteration order of a java.util.HashMap that was filled by `compute`, which puts a key in front of its bucket."""
    held = list(dict.fromkeys(keys))[::-1]
    mask = table_for(len(held)) - 1
    return sorted(held, key=lambda key: spread_bits(hash_of(key)) & mask)
