"""The group coordinators of a cluster: which group exists, which node has it, what its log remembers.

docs/kafka/group-protocol.md#load-unload-deletion
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..events import NS_PER_MS
from ..java.hashes import java_hash, partition_for, partition_hash
from ..java.orders import java_order, scala_table_order
from ..log import internal
from ..log.names import OFFSETS_TOPIC
from ..log.placement import NO_LEADER
from ..log.refusal import TopicRefused
from ..turn import TimerHandler, Turn
from . import causes, codes, leaving, rebalance, replacement, retention, storage, telling
from .causes import Why
from .group import Group, Offset, StoredGroup
from .listing import ByPartition, InOneMap, Listing
from .states import DEAD, EMPTY, PREPARING, STABLE

if TYPE_CHECKING:
    from ..environment import Environment
    from ..log.topics import Topics

Log = dict[str, tuple[StoredGroup | None, dict[tuple[str, int], Offset]]]


class Coordinators:
    """Every group of the cluster. Partition p of __consumer_offsets starts on node 1 + p mod N and moves by unload and load.

    Who leads such a partition is decided here; the topic, which comes into being with the first look-up of a group's coordinator or the
    first group, is told.
    """

    def __init__(self, environment: Environment, topics: Topics) -> None:
        self._environment = environment
        self._topics = topics
        topics.hosted_by(OFFSETS_TOPIC, self)
        topics.when_deleted(self.topic_deleted)
        self._groups: dict[str, Group] = {}
        nodes = [node.node_id for node in environment.identity.nodes]
        count = environment.settings.offsets_topic_num_partitions
        self._leaders: list[int | None] = [None] * count
        self._topic_deleted = False
        self._listing: Listing = InOneMap() if environment.settings.quirks.groups_listed_from_one_map else ByPartition(OFFSETS_TOPIC)
        self._loading: set[int] = set()
        self._logs: dict[int, Log] = {}
        self.zookeeper: dict[tuple[str, str, int], Offset] = {}
        """Offsets of OffsetCommit v0 where the release keeps them in ZooKeeper (2.8)."""
        self._begin({partition: nodes[partition % len(nodes)] for partition in range(count)})

    # -- where a group lives -------------------------------------------------------------------------------------------

    def partition_of(self, group_id: str) -> int:
        """The group's partition of __consumer_offsets."""
        return partition_for(group_id, len(self._leaders))

    def in_order(self, turn: Turn, group_ids: Iterable[str], deleted: bool = False) -> list[str]:
        """In which order groups are described or deleted: in Kafka 4 by offsets partition, both in the order of hash maps."""
        if turn.quirks.groups_answered_as_asked:
            return scala_table_order(group_ids, java_hash) if deleted else list(group_ids)
        parts: dict[int, list[str]] = {}
        for group_id in group_ids:
            parts.setdefault(self.partition_of(group_id), []).append(group_id)
        order = java_order(((OFFSETS_TOPIC, index) for index in parts), partition_hash)
        return [group_id for _, index in order for group_id in (java_order(parts[index], java_hash) if deleted else parts[index])]

    def node_of(self, group_id: str) -> int | None:
        """The node that coordinates the group; None: nobody does at the moment."""
        return self._leaders[self.partition_of(group_id)]

    @property
    def places(self) -> int:
        """How many partitions groups are placed on: offsets.topic.num.partitions as it was at the start."""
        return len(self._leaders)

    def leader_of(self, partition: int) -> int | None:
        """The node that leads a partition of __consumer_offsets; None: nobody does."""
        return self._leaders[partition]

    def led_by(self, node: int | None) -> list[int]:
        """The partitions that a node leads; None: those that nobody leads."""
        return [partition for partition, leader in enumerate(self._leaders[: self.hosted]) if leader == node]

    @property
    def hosted(self) -> int:
        """How many of the partitions that groups are placed on there are: all, unless somebody made a smaller topic, or deleted it.

        Kafka reads the number for the hash when a node starts and keeps it (seen on 4.3.0, 3.9.1, 2.8.2).
        """
        made = self._topics.partitions(OFFSETS_TOPIC)
        if made is None:
            return 0 if self._topic_deleted else len(self._leaders)
        return min(made, len(self._leaders))

    def gate(self, group_id: str, node: int) -> int:
        """May that node answer for the group? 14 while it loads, 16 when another leads, else 0 (SERVER-48)."""
        group = self._groups.get(group_id)
        partition = group.partition if group is not None else self.partition_of(group_id)
        if self._leaders[partition] != node:
            return codes.NOT_COORDINATOR
        return codes.COORDINATOR_LOAD_IN_PROGRESS if partition in self._loading else codes.NONE

    def loading(self, node: int) -> bool:
        """Does that node load any partition?"""
        return any(self._leaders[partition] == node for partition in self._loading)

    def groups_on(self, node: int) -> list[Group]:
        """The groups that node coordinates, in the order in which Kafka lists them."""
        return [self._groups[group_id] for group_id in self._listing.on(node)]

    # -- groups --------------------------------------------------------------------------------------------------------

    def find(self, group_id: str) -> Group | None:
        """The group of that id, if there is one."""
        return self._groups.get(group_id)

    def groups(self) -> Iterator[Group]:
        """Every group there is."""
        return iter(self._groups.values())

    def create(self, turn: Turn, group_id: str, why: Why, recorded: bool) -> Group:
        """A new Empty group; `recorded`: with an empty group record in the log, as after a JoinGroup that was refused with
        79 or 23 (seen in 4.3.0's __consumer_offsets).

        It brings its topic: clients of a mock need not look for the coordinator first. (Kafka answers 16 until somebody has.)
        """
        self.make_topic(turn)
        group = self._add(turn, group_id)
        telling.tell_move(turn, group, "", str(EMPTY), why)
        if recorded:
            storage.store(turn, group)
        self._arm_retention(turn)
        return group

    def make_topic(self, turn: Turn) -> bool:
        """See to it that there is a topic of offsets. Is there one? (A topic whose name collides keeps Kafka from making it.)"""
        try:
            internal.make(turn, self._topics, OFFSETS_TOPIC)
        except TopicRefused as refused:
            turn.note("topic_not_created", topic=OFFSETS_TOPIC, reason=refused.message)
            return False
        return True

    def _add(self, turn: Turn, group_id: str) -> Group:
        quirks, partition = turn.quirks, self.partition_of(group_id)
        group = Group(self, group_id, partition, turn.wall_ms, quirks.malformed_subscription_hangs, quirks.scala_member_order)
        self._groups[group_id] = group
        self._listing.add(group_id, partition, self._leader(partition))
        return group

    def _leader(self, partition: int) -> int:
        leader = self._leaders[partition]
        assert leader is not None, f"partition {partition} of {OFFSETS_TOPIC} has groups and nobody leads it"
        return leader

    def delete(self, turn: Turn, group: Group, why: Why) -> None:
        """The group dies, with its reservations and offsets; its id is unknown afterwards."""
        for member_id in group.pending_joins:
            turn.timers.cancel(("session", group.group_id, member_id))
        group.pending_joins.clear()
        group.offsets.clear()
        telling.move(turn, group, DEAD, why)
        del self._groups[group.group_id]
        self._listing.discard(group.group_id, group.partition, self._leader(group.partition))

    def topic_deleted(self, turn: Turn, name: str) -> None:
        """A topic is gone: so are its offsets in every group; with the topic of offsets everything is.

        Then nobody coordinates (16) until the next look-up makes it anew, empty: seen on 4.3.0, 3.9.1, 2.8.2.
        """
        if name == OFFSETS_TOPIC:
            self._topic_deleted = True
            for partition, leader in enumerate(self._leaders):
                if leader is not None:
                    self.unload(turn, partition)
            self._logs.clear()
        for group in self._groups.values():
            for at in group.offsets.discard_topic(name):
                turn.note("offset_removed", group=group.group_id, topic=name, partition=at[1], reason="the topic was deleted")
        for log in self._logs.values():  # partitions that nobody leads just now
            for _, offsets in log.values():
                for at in [at for at in offsets if at[0] == name]:
                    del offsets[at]

    def largest_batch(self, partition: int) -> int:
        """What its leader may write at once; nobody leads it: what the controller may."""
        node = self._leaders[partition]
        return self._topics.group_record_limit(self._topics.controller() if node is None else node)

    # -- timers --------------------------------------------------------------------------------------------------------

    def timer_handlers(self) -> dict[str, TimerHandler]:
        """Timer name -> what happens when it fires."""
        return {
            "session": self._on_session,
            "join": self._on_join,
            "sync": self._on_sync,
            "write": self._on_write,
            "retention": self._on_retention,
            "load": self._on_load,
        }

    def _on_session(self, subject: tuple[str, ...], turn: Turn) -> bool:
        group = self._groups.get(subject[0])
        if group is None:
            return False
        if subject[1] in group.members and self._environment.holds.defers(("session", *subject), group.group_id, group.state):
            group.end_leases()  # its timer is dead: no lease may move it
            return False
        return leaving.expire(turn, group, subject[1])

    def _on_join(self, subject: tuple[str, ...], turn: Turn) -> bool:
        group = self._groups.get(subject[0])
        if group is None or group.state is not PREPARING:
            return False
        rebalance.on_join_timer(turn, group)
        return True

    def _on_sync(self, subject: tuple[str, ...], turn: Turn) -> bool:
        group = self._groups.get(subject[0])
        if group is None:
            return False
        if self._environment.holds.defers(("sync", *subject), group.group_id, group.state):
            group.end_leases()
            return False
        return rebalance.on_sync_timer(turn, group)

    def _on_write(self, subject: tuple[str, ...], turn: Turn) -> bool:
        group = self._groups.get(subject[0])
        return group is not None and replacement.written(turn, group, subject[1])

    def _on_retention(self, subject: tuple[str, ...], turn: Turn) -> bool:
        for group in list(self._groups.values()):
            if retention.sweep(turn, group) and not self._environment.holds.keeps_group(group.group_id):
                self.delete(turn, group, causes.NOTHING_LEFT)
        if self._groups:
            self._arm_retention(turn)
        return bool(turn.out)

    def _arm_retention(self, turn: Turn) -> None:
        """The sweeps are at fixed multiples of the interval; without groups there is none to wake up for."""
        if ("retention",) not in turn.timers:
            interval = turn.settings.offsets_retention_check_interval_ms * NS_PER_MS
            turn.timers.set(("retention",), (turn.now // interval + 1) * interval)

    # -- moving a partition --------------------------------------------------------------------------------------------

    def elected(self, turn: Turn, first: int, leaders: Sequence[int]) -> None:
        """Partitions of __consumer_offsets from `first` on were made and have these leaders (-1: none); so do their groups.

        The number that groups are placed by stays: what lies beyond it has no groups, what is not there cannot have any.
        """
        self._topic_deleted = False
        wanted = {first + step: leader for step, leader in enumerate(leaders) if first + step < len(self._leaders)}
        wanted.update(dict.fromkeys(range(first + len(leaders), len(self._leaders)), NO_LEADER))
        for partition, leader in wanted.items():
            before = self._leaders[partition]
            if before is not None and leader == NO_LEADER:
                self.unload(turn, partition)
            elif before is not None and leader != before:
                self.load(turn, partition, leader, 0)
        self._begin({partition: leader for partition, leader in wanted.items() if self._leaders[partition] is None and leader != NO_LEADER})

    def _begin(self, leaders: Mapping[int, int]) -> None:
        """Partitions with an empty log, which nobody led before."""
        for node in dict.fromkeys(leaders.values()):
            mine = [partition for partition, leader in leaders.items() if leader == node]
            self._listing.led(mine, node)
            for partition in mine:
                self._leaders[partition] = node

    def unload(self, turn: Turn, partition: int) -> None:
        """The partition's leader loses it: what was parked gets 16, every group dies, the log stays (SERVER-49)."""
        self._release(turn, partition)
        self._lead(turn, partition, None)

    def _release(self, turn: Turn, partition: int) -> None:
        if partition in self._loading:
            self._loading.discard(partition)
            turn.timers.cancel(("load", str(partition)))
            return
        why = causes.coordinator_left(partition, self._leaders[partition])
        log: Log = {}
        for group in [group for group in self._groups.values() if group.partition == partition]:
            log[group.group_id] = (group.stored, dict(group.offsets))
            storage.unload(turn, group)
            self.delete(turn, group, why)
        self._logs[partition] = log

    def _lead(self, turn: Turn, partition: int, node: int | None) -> None:
        """Nobody but this decides who leads a partition; one that changes hands has no groups at that moment."""
        before, self._leaders[partition] = self._leaders[partition], node
        if before is not None:
            self._listing.left(partition, before)
        if node is not None:
            self._listing.led([partition], node)
        self._topics.hosted(turn, partition, node)

    def stopped(self, node: int) -> None:
        """A node is gone with all it had in memory; its partitions have left it."""
        self._listing.stopped(node)

    def load(self, turn: Turn, partition: int, node: int, loading_ms: int) -> None:
        """The node takes the partition over and replays its log for `loading_ms` (SERVER-48)."""
        if self._leaders[partition] is not None:
            self._release(turn, partition)
        self._lead(turn, partition, node)
        self._loading.add(partition)
        if loading_ms > 0:
            turn.timers.set(("load", str(partition)), turn.after(loading_ms))
        else:
            self._finish_load(turn, partition)

    def _on_load(self, subject: tuple[str, ...], turn: Turn) -> bool:
        self._finish_load(turn, int(subject[0]))
        return True

    def _finish_load(self, turn: Turn, partition: int) -> None:
        self._loading.discard(partition)
        why = causes.coordinator_loaded(partition, self._leaders[partition])
        for group_id, (stored, offsets) in self._logs.pop(partition, {}).items():
            if stored is None and not offsets:
                continue  # only ever in memory: reservations of the old coordinator
            group = self._add(turn, group_id)
            group.offsets.refill(offsets)
            storage.restore(turn, group, stored)
            telling.tell_move(turn, group, "", str(group.state), why)
            self._arm_retention(turn)
            if group.state is STABLE and len(group.members) > turn.settings.group_max_size:
                rebalance.prepare(turn, group, causes.GROUP_TOO_LARGE)
