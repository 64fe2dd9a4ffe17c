"""In which order a node lists its groups: that of the maps Kafka keeps them in.

Kafka 4 asks one coordinator per partition of __consumer_offsets, which lie in a ConcurrentHashMap and have their groups in a
TimelineHashMap each (CoordinatorRuntime, GroupMetadataManager); the old coordinator has one ConcurrentHashMap of all groups
(GroupMetadataManager of core). Recorded: tests/data/listed_groups.json.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ..java.hashes import java_hash, partition_hash
from ..java.orders import java_order
from ..java.tables import Concurrent, Timeline, signed


class Listing(Protocol):
    """The tables of every node; they tell an order and are asked for nothing else."""

    def led(self, partitions: Iterable[int], node: int) -> None:
        """The node begins to lead partitions of the offsets topic at once; they have no groups yet."""

    def left(self, partition: int, node: int) -> None:
        """The node leads it no more; its groups are gone."""

    def add(self, group_id: str, partition: int, node: int) -> None:
        ...

    def discard(self, group_id: str, partition: int, node: int) -> None:
        ...

    def stopped(self, node: int) -> None:
        """A node's memory is gone: it will begin with small tables."""

    def on(self, node: int) -> list[str]:
        """The ids of that node's groups."""


class _Shard:
    """The groups of one partition. `_came` numbers them by their coming."""

    def __init__(self) -> None:
        self._table = Timeline()
        self._came: dict[str, int] = {}
        self._next = 0

    def add(self, group_id: str) -> None:
        self._table.put(new=True)
        self._came[group_id] = self._next
        self._next += 1

    def discard(self, group_id: str) -> None:
        del self._came[group_id]
        self._table.size -= 1

    def listed(self) -> list[str]:
        return sorted(self._came, key=lambda name: (self._table.slot(signed(java_hash(name))), -self._came[name]))


class ByPartition:
    """Kafka 4: partition by partition."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._partitions: dict[int, Concurrent[int]] = {}
        self._shards: dict[int, _Shard] = {}

    def led(self, partitions: Iterable[int], node: int) -> None:
        """Shards begin in the order of the hash map in which a broker gathers the partitions it was elected for."""
        held = self._partitions.get(node)
        if held is None:
            held = self._partitions[node] = Concurrent(lambda index: partition_hash((self._topic, index)))
        for _, partition in java_order(((self._topic, index) for index in partitions), partition_hash):
            held.add(partition)

    def left(self, partition: int, node: int) -> None:
        self._partitions[node].discard(partition)
        self._shards.pop(partition, None)

    def add(self, group_id: str, partition: int, node: int) -> None:
        """The first one makes the shard's table: nobody asks for an empty one."""
        self._shards.setdefault(partition, _Shard()).add(group_id)

    def discard(self, group_id: str, partition: int, node: int) -> None:
        """The table keeps its size."""
        self._shards[partition].discard(group_id)

    def stopped(self, node: int) -> None:
        """Its partitions have left before."""
        self._partitions.pop(node, None)

    def on(self, node: int) -> list[str]:
        """The groups of one shard after the other."""
        shards = (self._shards.get(partition) for partition in self._partitions.get(node, ()))
        return [group_id for shard in shards if shard is not None for group_id in shard.listed()]


class InOneMap:
    """Kafka 3.9: one map a node."""

    def __init__(self) -> None:
        self._groups: dict[int, Concurrent[str]] = {}

    def led(self, partitions: Iterable[int], node: int) -> None:
        """In which partition a group lives does not change the order."""

    def left(self, partition: int, node: int) -> None:
        """Nothing changes: the map is the node's, whatever partitions it leads."""

    def add(self, group_id: str, partition: int, node: int) -> None:
        """A node's first group makes its map: nobody asks for an empty one."""
        held = self._groups.get(node)
        if held is None:
            held = self._groups[node] = Concurrent(java_hash)
        held.add(group_id)

    def discard(self, group_id: str, partition: int, node: int) -> None:
        """The map keeps its size."""
        self._groups[node].discard(group_id)

    def stopped(self, node: int) -> None:
        """Its groups have gone before."""
        self._groups.pop(node, None)

    def on(self, node: int) -> list[str]:
        """Return the ids on that node, bucket after bucket."""
        return list(self._groups.get(node, ()))
