"""Lists the keys of a java.util.HashMap or HashSet in the map's order, after any puts, computes and removals.

`orders` gives the order of a map that was filled and read. This module is for maps that change: made for a number of keys, copied, changed
and copied again. Rules: bucket = spread hash & (table - 1); `put` appends to a bucket, `computeIfAbsent` inserts at its front; the table
doubles beyond three quarters, after a put but before a computeIfAbsent; and a bucket that gets its ninth key (by computeIfAbsent: its
eighth) makes a table below 64 double at once, and becomes a tree in a larger one (`tree_bins`). Trees do occur: partitions assigned
round-robin to 64 members are equal in their low bits. If no bucket ever became so long, the order is that of the buckets, however often
the table doubled: `filled_order` and `changed_order` compute it at once, because assignors ask for thousands. In Java: java.util.HashMap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar, cast

from .hashes import spread, spread_bits, uuid_hash
from .orders import SMALLEST_TABLE, are_places
from .tables import signed
from .tree_bins import TreeBin

K = TypeVar("K", bound=Hashable)

LONGEST_LIST: Final = 8
SMALLEST_TABLE_WITH_TREES: Final = 64
LARGEST_LIST_OF_A_TREE: Final = 6
FEW: Final = 7
"""With this number of keys or fewer, no bucket of the map becomes a tree, not even by computeIfAbsent."""
_SIGNS: Final = 1 << 127 | 1 << 63


class Kind(Generic[K]):
    """Says how a map treats keys of one type: `spread` gives the hash that the map uses, and `rank` sorts keys with equal hashes in a
    tree."""

    __slots__ = ("rank", "spread")

    def __init__(self, spread: Callable[[K], int], rank: Callable[[K], Any]) -> None:
        self.spread, self.rank = spread, rank

    def ranked(self, key: K) -> tuple[K, Any]:
        """Return the key with the rank by which a tree sorts it."""
        return key, (signed(self.spread(key)), self.rank(key))


def string_rank(text: str) -> bytes:
    """Return a sort key with the order of `String.compareTo`, which compares UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def uuid_rank(topic_id: bytes) -> int:
    """Return a sort key with the order of Kafka's `Uuid.compareTo`, which compares two signed 64-bit numbers."""
    return int.from_bytes(topic_id) ^ _SIGNS


@lru_cache(maxsize=1 << 14)
def _uuid_spread(topic_id: bytes) -> int:
    """Return the hash of a topic id as HashMap spreads it. It is cached for as many topics as a cluster has, because every subscribed
    member asks for it."""
    return spread_bits(uuid_hash(topic_id))


STRINGS: Final[Kind[str]] = Kind(spread, string_rank)
UUIDS: Final[Kind[bytes]] = Kind(_uuid_spread, uuid_rank)
INTEGERS: Final[Kind[int]] = Kind(spread_bits, int)


def room_for(size: int) -> int:
    """Return the capacity with which Kafka and `new HashSet(collection)` create a map for `size` keys, which is size / 0.75 + 1."""
    return size * 4 // 3 + 1


class HashKeys(Generic[K]):
    """The keys of one map, iterated in the map's order. `capacity` is the argument of Java's constructor, `keys` are put one by one.
    While there are few keys no bucket can become too long, and a list is enough, in which the keys of each bucket are in the bucket's
    order."""

    __slots__ = ("_buckets", "_few", "_kind", "_size", "_table")

    def __init__(self, kind: Kind[K], capacity: int = SMALLEST_TABLE, keys: Iterable[K] = ()) -> None:
        self._kind = kind
        self._few: list[K] | None = []
        self._buckets: dict[int, list[K] | TreeBin[K]] = {}
        self._size = 0
        self._table = _table_for(capacity)
        for key in keys:
            self.put(key)

    @classmethod
    def copied(cls, kind: Kind[K], keys: Collection[K]) -> HashKeys[K]:
        """Return the keys of `new HashSet(keys)` in the set's order."""
        return cls(kind, max(room_for(len(keys)), SMALLEST_TABLE), keys)

    def __len__(self) -> int:
        return self._size if self._few is None else len(self._few)

    def __contains__(self, key: object) -> bool:
        if self._few is not None:
            return key in self._few
        return key in self._buckets.get(self._kind.spread(cast(K, key)) & self._table - 1, ())

    def __iter__(self) -> Iterator[K]:
        if self._few is not None:
            yield from _by_place(self._kind, self._few, self._table)
            return
        for place in sorted(self._buckets):
            yield from self._buckets[place]

    def put(self, key: K) -> None:
        """Put a key into the map. If it is there, it stays where it is."""
        few = self._few
        if few is not None:
            if len(few) < FEW:
                if key not in few:
                    few.append(key)
                    self._table <<= len(few) > self._table * 3 // 4
                return
            self._fill_buckets(few)
        place = self._kind.spread(key) & self._table - 1
        bucket = self._buckets.get(place)
        if bucket is None:
            self._buckets[place] = [key]
        elif key in bucket:
            return
        elif isinstance(bucket, TreeBin):
            bucket.add(*self._kind.ranked(key))
        else:
            bucket.append(key)
            if len(bucket) > LONGEST_LIST:
                self._relieve(place, bucket)
        self._size += 1
        if self._size > self._table * 3 // 4:
            self._double()

    def compute(self, key: K) -> None:
        """Insert a key by `computeIfAbsent`, which may double the table even if the map has the key."""
        few = self._few
        if few is not None:
            if len(few) < FEW:
                self._table <<= len(few) > self._table * 3 // 4
                if key not in few:
                    few.insert(0, key)
                return
            self._fill_buckets(few)
        if self._size > self._table * 3 // 4:
            self._double()
        place = self._kind.spread(key) & self._table - 1
        bucket = self._buckets.get(place)
        if bucket is None:
            self._buckets[place] = [key]
        elif key in bucket:
            return
        elif isinstance(bucket, TreeBin):
            bucket.add(*self._kind.ranked(key))
        else:
            bucket.insert(0, key)
            if len(bucket) >= LONGEST_LIST:
                self._relieve(place, bucket)
        self._size += 1

    def remove(self, key: K) -> None:
        """Remove a key that the map has."""
        if self._few is not None:
            self._few.remove(key)
            return
        place = self._kind.spread(key) & self._table - 1
        bucket = self._buckets[place]
        if isinstance(bucket, TreeBin) and bucket.too_small():
            bucket = self._buckets[place] = list(bucket)
        bucket.remove(key)
        self._size -= 1
        if not bucket:
            del self._buckets[place]

    def _fill_buckets(self, few: list[K]) -> None:
        """Move the keys from the list to buckets, because there are too many for a list."""
        buckets: dict[int, list[K]] = {}
        for key in few:
            buckets.setdefault(self._kind.spread(key) & self._table - 1, []).append(key)
        self._buckets.update(buckets)
        self._few, self._size = None, len(few)

    def _relieve(self, place: int, bucket: list[K]) -> None:
        """Turn a long bucket into a tree, or double the table if it is small (HashMap.treeifyBin)."""
        if self._table < SMALLEST_TABLE_WITH_TREES:
            self._double()
        else:
            self._buckets[place] = TreeBin(map(self._kind.ranked, bucket))

    def _double(self) -> None:
        """Double the table, which splits each bucket by one more bit of the hashes. Halves keep their order, and a small half of a tree
        becomes a list again."""
        old, bit = self._buckets, self._table
        self._buckets, self._table = {}, 2 * bit
        for place, bucket in old.items():
            halves: tuple[list[K], list[K]] = ([], [])
            for key in bucket:
                halves[self._kind.spread(key) & bit > 0].append(key)
            for at, half in zip((place, place + bit), halves, strict=True):
                if len(half) == len(bucket):
                    self._buckets[at] = bucket if len(half) > LARGEST_LIST_OF_A_TREE else half
                elif half:
                    tree = isinstance(bucket, TreeBin) and len(half) > LARGEST_LIST_OF_A_TREE
                    self._buckets[at] = TreeBin(map(self._kind.ranked, half)) if tree else half


def copied_order(kind: Kind[K], keys: Collection[K]) -> list[K]:
    """Return the keys in the order of `new HashSet(keys)`."""
    if len(keys) < 2:
        return list(keys)
    return filled_order(kind, keys, max(room_for(len(keys)), SMALLEST_TABLE))


def filled_order(kind: Kind[K], keys: Collection[K], capacity: int) -> list[K]:
    """Return the keys in the order of a map with that capacity into which they were put."""
    if len(keys) < 2:
        return list(keys)
    held, table = list(dict.fromkeys(keys)), _table_for(capacity)
    if len(held) <= LONGEST_LIST:
        return _by_place(kind, held, _doubled(table, len(held)))
    final = _doubled(table, len(held))
    if kind is INTEGERS and (are_places(held, table) or (_is_run(held) and are_places(held, final))):
        return cast(list[K], sorted(cast(list[int], held)))
    spreads = list(map(kind.spread, held))
    if _grew_trees(spreads, table):
        return list(HashKeys(kind, capacity, held))
    mask = final - 1
    places = [spread & mask for spread in spreads]
    return [held[number] for number in sorted(range(len(held)), key=places.__getitem__)]


def changed_order(kind: Kind[K], had: Sequence[K], gone: Collection[K], new: Sequence[K], capacity: int) -> list[K]:
    """Return the keys of a map with that capacity after `had` was put (which fits), `gone` was removed one by one, and `new` was put."""
    table, without = _table_for(capacity), set(gone)
    held = [*[key for key in had if key not in without], *new] if gone else [*had, *new]
    if kind is INTEGERS and are_places(had, table) and are_places(held, table):
        return cast(list[K], sorted(cast(list[int], held)))
    several = [each for each in (had, held) if len(each) > LONGEST_LIST]
    if several and any(_grew_trees([kind.spread(key) for key in each], table) for each in several):
        made = HashKeys(kind, capacity, had)
        for key in gone:
            made.remove(key)
        for key in new:
            made.put(key)
        return list(made)
    return _by_place(kind, held, _doubled(table, len(held)))


def _is_run(keys: list[Any]) -> bool:
    """True if the keys are consecutive ints in ascending order, so that all buckets of a growing table are equally long."""
    return keys == list(range(keys[0], keys[0] + len(keys)))


def _doubled(table: int, size: int) -> int:
    """Return the size that a table of size `table` has after it has grown for `size` keys."""
    while size > table * 3 // 4:
        table *= 2
    return table


def _by_place(kind: Kind[K], keys: list[K], table: int) -> list[K]:
    """Return the keys sorted by the buckets of a table; keys of the same bucket keep their order."""
    if len(keys) < 2:
        return keys.copy()
    if kind is INTEGERS and are_places(keys, table):
        return cast(list[K], sorted(cast(list[int], keys)))
    spread, mask = kind.spread, table - 1
    return sorted(keys, key=lambda key: spread(key) & mask)


def _grew_trees(spreads: list[int], table: int) -> bool:
    """True if a bucket would have become too long while keys with these hashes were put one by one into a growing table."""
    while True:
        put = spreads[: table * 3 // 4 + 1]
        if len(put) > LONGEST_LIST and max(Counter([spread & table - 1 for spread in put]).values()) > LONGEST_LIST:
            return True
        if len(spreads) <= table * 3 // 4:
            return False
        table *= 2


def _table_for(capacity: int) -> int:
    """Return the table size for a capacity (HashMap.tableSizeFor)."""
    return 1 << max(capacity - 1, 0).bit_length()
