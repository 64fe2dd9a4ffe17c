"""A node lists its groups in the order of the maps in which Kafka keeps them.

Kafka 4 asks one coordinator per partition of __consumer_offsets. These are in a ConcurrentHashMap and have their groups in a
TimelineHashMap each (CoordinatorRuntime, GroupMetadataManager). The old coordinator has one ConcurrentHashMap of all groups
(GroupMetadataManager of core). Recorded: tests/data/listed_groups.json.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ..java.hashes import java_hash, partition_hash
from ..java.orders import java_order
from ..java.tables import Concurrent, Timeline


class Listing(Protocol):
    """The tables of groups of every node, which determine the order of the group list."""

    def led(self, partitions: Iterable[int], node: int) -> None:
        """Note that the node now leads these partitions of the offsets topic, whose groups are not loaded yet."""

    def left(self, partition: int, node: int) -> None:
        """Note that the node no longer leads the partition of the offsets topic; the partition's groups were removed before."""

    def add(self, group_id: str, partition: int, node: int) -> None: ...

    def discard(self, group_id: str, partition: int, node: int) -> None: ...

    def stopped(self, node: int) -> None:
        """Forget the tables of a stopped node, because Kafka's tables are small again after a restart."""

    def on(self, node: int) -> list[str]:
        """Return the ids of the node's groups, in the order of Kafka's group list."""


class _Shard:
    """The groups in one partition of the offsets topic. `_came` numbers them in the order of their creation."""

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
        return sorted(self._came, key=lambda name: (self._table.slot(java_hash(name)), -self._came[name]))


class ByPartition:
    """The listing of Kafka 4, which has a table of groups per partition of the offsets topic."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._partitions: dict[int, Concurrent[int]] = {}
        self._shards: dict[int, _Shard] = {}

    def led(self, partitions: Iterable[int], node: int) -> None:
        """Add a table of groups for each of the partitions, in the order of the hash map in which a broker collects the partitions for
        which it was elected."""
        held = self._partitions.get(node)
        if held is None:
            held = self._partitions[node] = Concurrent(lambda index: partition_hash((self._topic, index)))
        for _, partition in java_order(((self._topic, index) for index in partitions), partition_hash):
            held.add(partition)

    def left(self, partition: int, node: int) -> None:
        self._partitions[node].discard(partition)
        self._shards.pop(partition, None)

    def add(self, group_id: str, partition: int, node: int) -> None:
        """Add the group to the table of groups of its partition. The first one creates the shard's table, because an empty table is
        never listed."""
        self._shards.setdefault(partition, _Shard()).add(group_id)

    def discard(self, group_id: str, partition: int, node: int) -> None:
        """Remove the group from the table of groups of its partition. The table keeps its size."""
        self._shards[partition].discard(group_id)

    def stopped(self, node: int) -> None:
        """Forget a stopped node, all of whose partitions were removed before."""
        self._partitions.pop(node, None)

    def on(self, node: int) -> list[str]:
        """Return the ids of the groups, one partition of the offsets topic after the other."""
        shards = (self._shards.get(partition) for partition in self._partitions.get(node, ()))
        return [group_id for shard in shards if shard is not None for group_id in shard.listed()]


class InOneMap:
    """The listing of Kafka 3.9, which has one map of groups per node."""

    def __init__(self) -> None:
        self._groups: dict[int, Concurrent[str]] = {}

    def led(self, partitions: Iterable[int], node: int) -> None:
        """Do nothing, because in Kafka 3.9 a group's partition does not affect the order."""

    def left(self, partition: int, node: int) -> None:
        """Do nothing, because in Kafka 3.9 the map belongs to the node, whatever partitions it leads."""

    def add(self, group_id: str, partition: int, node: int) -> None:
        """Add the group to the node's map of groups. A node's first group creates its map, because an empty map is never listed."""
        held = self._groups.get(node)
        if held is None:
            held = self._groups[node] = Concurrent(java_hash)
        held.add(group_id)

    def discard(self, group_id: str, partition: int, node: int) -> None:
        """Remove the group from the node's map of groups. The map keeps its size."""
        self._groups[node].discard(group_id)

    def stopped(self, node: int) -> None:
        """Forget the map of a stopped node, all of whose groups were removed before."""
        self._groups.pop(node, None)

    def on(self, node: int) -> list[str]:
        """Return the ids of the groups in the order of the map's buckets."""
        return list(self._groups.get(node, ()))
