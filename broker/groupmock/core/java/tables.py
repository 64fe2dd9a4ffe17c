"""Hash tables of Kafka's coordinators grow but never shrink, so that their order, which clients can see, depends on their past.

`Timeline` is the TimelineHashMap of Kafka 4 (server-common's BaseHashTable): two slots at first, more beyond one and a third entries per
slot. `Concurrent` is Java's ConcurrentHashMap, which reverses part of a bucket whenever it doubles.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Final, Generic, TypeVar

from .hashes import spread_bits
from .orders import SMALLEST_TABLE

K = TypeVar("K", bound=Hashable)

_FIBONACCI: Final = 0x9E3779B97F4A7C15
_LONG: Final = 0xFFFFFFFFFFFFFFFF
_SMALLEST: Final = 2
_LONGEST_LIST: Final = 8  # A bucket of more entries than this becomes a tree, if the table is large enough.
_SMALLEST_TREE: Final = 2  # A tree becomes a list again when a key is removed and no more than this number remains.
_SMALLEST_SPLIT_TREE: Final = 6
_SMALLEST_TABLE_WITH_TREES: Final = 64


def signed(value: int) -> int:
    """Return the 32-bit number as Java's signed int."""
    return value - (value >> 31 << 32)


class Timeline:
    """The size and capacity of a TimelineHashMap whose entries the caller keeps. Within a slot the last entry is the first."""

    __slots__ = ("capacity", "size")

    def __init__(self) -> None:
        self.size, self.capacity = 0, _SMALLEST

    def put(self, new: bool) -> None:
        """Count an added or replaced entry, either of which may let the table grow."""
        if (self.size + 1) * 3 > self.capacity * 4:
            self.capacity *= 2
        self.size += new

    def slot(self, hash_code: int) -> int:
        """Return the slot of an entry with this hash: the top bits of the product of the Java int with 2^64 over the golden ratio."""
        return ((hash_code - (hash_code >> 31 << 32)) * _FIBONACCI & _LONG) >> (65 - self.capacity.bit_length())


class Concurrent(Generic[K]):
    """The keys of a ConcurrentHashMap, iterated in the map's order. `hash_of` returns a key's `hashCode()` as an unsigned 32-bit number.
    One case is left open: how low a tree must be to become a list again when one of several keys is removed, which depends on the tree's
    shape."""

    def __init__(self, hash_of: Callable[[K], int]) -> None:
        self._hash_of = hash_of
        self._buckets: dict[int, list[K]] = {}
        self._trees: set[int] = set()
        self._size = 0
        self._table = SMALLEST_TABLE

    def __iter__(self) -> Iterator[K]:
        for place in sorted(self._buckets):
            yield from self._buckets[place]

    def add(self, key: K) -> None:
        """Add a new key at the end of its bucket, or at the front if the bucket is a tree."""
        place = spread_bits(self._hash_of(key)) & self._table - 1
        bucket = self._buckets.setdefault(place, [])
        self._size += 1
        if place in self._trees:
            bucket.insert(0, key)
        else:
            bucket.append(key)
            if len(bucket) > _LONGEST_LIST:
                self._relieve(place)
        while self._too_small_for(self._size):
            self._double()

    def discard(self, key: K) -> None:
        """Remove a key if the map has it."""
        place = spread_bits(self._hash_of(key)) & self._table - 1
        bucket = self._buckets.get(place, [])
        if key not in bucket:
            return
        bucket.remove(key)
        self._size -= 1
        if len(bucket) <= _SMALLEST_TREE:
            self._trees.discard(place)
        if not bucket:
            del self._buckets[place]

    def _too_small_for(self, size: int) -> bool:
        return size * 4 >= self._table * 3

    def _relieve(self, place: int) -> None:
        """Shorten a long bucket: a small table doubles several times (tryPresize), and in a larger table the bucket becomes a tree."""
        if self._table >= _SMALLEST_TABLE_WITH_TREES:
            self._trees.add(place)
            return
        wanted = 1 << (3 * self._table).bit_length()
        while self._too_small_for(wanted):
            self._double()

    def _double(self) -> None:
        """Double the table, which splits each bucket by one more bit of the hashes."""
        old, trees, bit = self._buckets, self._trees, self._table
        self._buckets, self._trees, self._table = {}, set(), 2 * self._table
        for place, keys in old.items():
            bits = [spread_bits(self._hash_of(key)) & bit for key in keys]
            for half in (0, bit):
                kept = _tree_half(keys, bits, half) if place in trees else _list_half(keys, bits, half)
                if kept:
                    self._buckets[place + half] = kept
                if place in trees and len(kept) > _SMALLEST_SPLIT_TREE:
                    self._trees.add(place + half)


def _tree_half(keys: list[K], bits: list[int], half: int) -> list[K]:
    return [key for key, bit in zip(keys, bits, strict=True) if bit == half]


def _list_half(keys: list[K], bits: list[int], half: int) -> list[K]:
    """Return one half of a split bucket: its longest common tail stays, and each key before the tail is inserted at the front."""
    tail = len(keys) - 1
    while tail and bits[tail - 1] == bits[-1]:
        tail -= 1
    turned = _tree_half(keys[:tail], bits[:tail], half)[::-1]
    return turned + keys[tail:] if bits[-1] == half else turned
