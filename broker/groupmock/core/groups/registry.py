"""The registry maps each group id to its group, of whatever type, and creates, replaces and removes groups.

One id is one group, of one type at a time (Kafka: GroupMetadataManager.groups). A group belongs to a partition of __consumer_offsets, and
`hosting` knows which node answers for it. The registry is the tenant of the hosting, so that groups die when their partition leaves a node
and are restored from the log when another node has loaded it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from groupmock_codec.refused_records import RecordsError
from groupmock_codec.units import NS_PER_MS

from ..effects import TimerFired
from ..hosting import Hosting
from ..java.hashes import java_hash, partition_for, partition_hash
from ..java.orders import java_order, scala_table_order
from ..log.names import OFFSETS_TOPIC
from ..log.placement import NO_LEADER
from ..turn import TimerHandler, Turn
from ..work import A_FEW, Steps, defers, on
from . import causes
from .causes import Why
from .classic.type import ClassicGroup
from .kinds import is_consumer
from .listing import ByPartition, InOneMap, Listing
from .offsets import retention
from .offsets.by_topic import ByTopic
from .offsets.committed import CommittedOffsets
from .type import GroupType

if TYPE_CHECKING:
    from groupmock_codec.records import Batch

    from ..environment import Environment
    from ..log.topics import Topics
    from ..log.transactions import Marker
    from ..timers import Key
    from .configs import GroupConfigs
    from .consumer.type import ConsumerGroup
    from .offsets.commits import Prepared
    from .type import States

G = TypeVar("G", bound=GroupType)


class Remembered(msgspec.Struct, frozen=True):
    """A group in the log, while no node coordinates it or a node is loading it."""

    kind: type[GroupType]
    stored: Any
    offsets: CommittedOffsets


class GroupRegistry:
    """The registry has all groups of the cluster. The first group creates the offsets topic, as the first look-up of a coordinator does."""

    share_states: Callable[[], States]
    """Returns the stored states of share partitions, which are made on first use. The cluster sets this."""

    def __init__(self, environment: Environment, topics: Topics) -> None:
        self._environment = environment
        self._groups: dict[str, GroupType] = {}
        self._logs: dict[int, dict[str, Remembered]] = {}
        self._following: dict[str, None] = {}  # The ids of the groups that want to be told of new topics.
        self._added = 0
        # The owner of an offset is a pair: the group's number in the order of creation, and the group id.
        self._with_offsets = ByTopic()
        self._remembered = ByTopic()  # This index serves `_logs`. The owner of an offset is a pair of partition and group id.
        self._listing: Listing = InOneMap() if environment.settings.quirks.groups_listed_from_one_map else ByPartition(OFFSETS_TOPIC)
        places = environment.settings.offsets_topic_num_partitions
        self.hosting = Hosting(environment, topics, OFFSETS_TOPIC, partial(partition_for, partitions=places), places, "load", self)
        """Places the partitions of __consumer_offsets on nodes."""
        topics.when_deleted(self.topic_deleted)
        topics.when_changed(self.topic_changed)
        topics.when_marked(self._transaction_ended)
        self._topics = topics
        self._in_transactions: dict[tuple[int, int], dict[str, None]] = {}
        """Maps (partition, producer id) to the ids of the groups in which the producer has pending offsets."""

    @cached_property
    def configs(self) -> GroupConfigs:
        """Return the configs of single groups. They are made on first use, because a server listens before that."""
        from .configs import GroupConfigs

        return GroupConfigs(self._environment.settings, self._topics.broker_overrides, self._configured)

    def _configured(self, group_id: str) -> None:
        group = self._groups.get(group_id)
        if group is not None:
            # The core has to see the group's next heartbeats, because the configs change the heartbeat interval in answers and the session
            # timeout.
            group.end_leases()

    def reach(self, group_id: str, node: int) -> tuple[int, GroupType | None]:
        """Return the group, or None if it does not exist; the first value is an error if the node may not answer (14 while loading, 16
        if another node leads)."""
        group = self._groups.get(group_id)
        hosting = self.hosting
        partition = hosting.partition_of(group_id) if group is None else group.partition
        if hosting.answering[partition] == node:
            return 0, group
        return hosting.gate(partition, node), None

    def gate(self, group_id: str, node: int) -> int:
        """Return the error with which the node refuses to answer for the group: COORDINATOR_LOAD_IN_PROGRESS (14), NOT_COORDINATOR (16),
        or 0 for none (SERVER-48)."""
        return self.reach(group_id, node)[0]

    def find(self, group_id: str) -> GroupType | None:
        return self._groups.get(group_id)

    def end_leases(self) -> None:
        """Let the core see the next heartbeat of every member, because rights have changed."""
        for group in self._groups.values():
            group.end_leases()

    def all(self) -> Iterator[GroupType]:
        return iter(self._groups.values())

    def groups_on(self, node: int) -> list[GroupType]:
        """Return the groups that the node coordinates, in the order of Kafka's group list."""
        return [self._groups[group_id] for group_id in self._listing.on(node)]

    def in_order(self, turn: Turn, group_ids: Iterable[str], deleted: bool = False) -> list[str]:
        """Return the group ids in the order in which Kafka describes or deletes groups. Kafka 4 orders them by offsets partition, both
        levels as hash maps do."""
        if turn.quirks.groups_answered_as_asked:
            return scala_table_order(group_ids, java_hash) if deleted else list(group_ids)
        parts: dict[int, list[str]] = {}
        for group_id in group_ids:
            parts.setdefault(self.hosting.partition_of(group_id), []).append(group_id)
        order = java_order(((OFFSETS_TOPIC, index) for index in parts), partition_hash)
        return [group_id for _, index in order for group_id in (java_order(parts[index], java_hash) if deleted else parts[index])]

    def claim(self, turn: Turn, group_id: str, kind: type[G], why: Why, recorded: bool = False) -> G | None:
        """Return the group with this id for a request that needs the given type: the existing group, or a new one. Return None if the id is
        used by another type.

        An Empty group of another type is replaced if both types allow that (`gives_way_to`), and the new one gets its offsets: this is
        how a group changes from the classic to the consumer protocol and back (KIP-848; GroupMetadataManager.maybeDeleteEmptyClassicGroup).
        """
        found = self._groups.get(group_id)
        if isinstance(found, kind):
            return found
        if found is None:
            return self.create(turn, group_id, kind, why, recorded)
        replaced = found.is_empty() and found.gives_way_to(kind)
        return self.exchange(turn, found, kind, why, recorded) if replaced else None

    def exchange(self, turn: Turn, group: GroupType, kind: type[G], why: Why, recorded: bool = False) -> G:
        """Replace the group by a group of the given type, with no members but all committed offsets. A caller whose group has members
        (KIP-848, online migration) adds them to the new one.

        The table of offsets itself is moved, because Kafka keeps it apart from groups, and a change of type does not touch it: offsets of
        open transactions stay pending, and a fetch of all offsets lists them in the same order (OffsetMetadataManager)."""
        offsets, group.offsets = group.offsets, CommittedOffsets()
        self.delete(turn, group, why)
        return self.create(turn, group.group_id, kind, why, recorded, offsets)

    def upgrade(self, turn: Turn, group: ClassicGroup, client_id: str | None) -> ConsumerGroup:
        # These imports are late, because a server that only listens does not need them.
        from .consumer.migration import upgrade
        from .consumer.type import ConsumerGroup

        why = causes.upgraded(client_id)
        new = self.exchange(turn, group, ConsumerGroup, why)
        upgrade(turn, group, new, why)
        return new

    def convert(self, turn: Turn, group: GroupType) -> None:
        """Convert the group to a classic one if only classic members remain after the last change."""
        if not is_consumer(group) or self._groups.get(group.group_id) is not group:
            return
        from .consumer.membership import left_to_classics

        if left_to_classics(turn, group):
            from .consumer.migration import downgrade

            members = group.ordered()
            downgrade(turn, group, members, self.exchange(turn, group, ClassicGroup, causes.DOWNGRADED))
        group.lost = None

    def create(self, turn: Turn, group_id: str, kind: type[G], why: Why, recorded: bool, offsets: CommittedOffsets | None = None) -> G:
        """Create a group of the given type. With `recorded`, it has a group record in the log, as after a JoinGroup that was refused with
        79 or 23 (seen in 4.3.0's __consumer_offsets).

        It creates the offsets topic, too, because clients of a mock need not look for the coordinator first. (Kafka answers 16 until some
        client has done so.)"""
        if self._topics.get(OFFSETS_TOPIC) is None:
            self.hosting.make_topic(turn)
        group = self._add(turn, group_id, kind, offsets)
        turn.group_moved(group, "", why)
        if recorded:
            group.store(turn)
        self._arm_retention(turn)
        return group

    def create_simple(self, turn: Turn, group_id: str, why: Why) -> GroupType:
        """Create a group for offsets that are committed without a member. It exists only in memory until it has some."""
        return self.create(turn, group_id, ClassicGroup, why, recorded=False)

    def mislay(self, turn: Turn, group: GroupType, why: Why) -> None:
        """Remove the group from memory only, so that the log still has it."""
        kept = self._remember(group)
        self.delete(turn, group, why)
        self._logs.setdefault(group.partition, {})[group.group_id] = kept

    def delete(self, turn: Turn, group: GroupType, why: Why) -> None:
        """Delete the group with its reserved ids and offsets, so that its id becomes unknown."""
        group.die(turn, why)
        self._forget(group)
        group.deleted(turn)

    def _add(self, turn: Turn, group_id: str, kind: type[G], offsets: CommittedOffsets | None = None) -> G:
        partition = self.hosting.partition_of(group_id)
        group = kind.begin(turn, self.hosting, group_id, partition)
        group.keeps_states_in(self.share_states)
        if offsets is not None:
            group.offsets = offsets
        self._groups[group_id] = group
        if kind.follows_topics:
            self._following[group_id] = None
        self._added += 1
        group.offsets.file_under(self._with_offsets, (self._added, group_id))
        self._listing.add(group_id, partition, self._leader(partition))
        mislaid = self._logs.get(partition, {}).pop(group_id, None)
        if mislaid is not None:
            group.offsets.refill(mislaid.offsets)
            mislaid.offsets.clear()
        return group

    def _forget(self, group: GroupType) -> None:
        del self._groups[group.group_id]
        self._following.pop(group.group_id, None)
        self._listing.discard(group.group_id, group.partition, self._leader(group.partition))

    def _leader(self, partition: int) -> int:
        leader = self.hosting.answering[partition]
        assert leader != NO_LEADER, f"partition {partition} of {OFFSETS_TOPIC} has groups and nobody leads it"
        return leader

    def write_pending(self, turn: Turn, group: GroupType, prepared: Prepared, batch: Batch | None) -> list[int]:
        """Store the pending offsets of a transaction and return an error code per commit. `batch`, which holds them, is written to the
        log of the group's partition."""
        from .offsets.commits import size_error, too_large  # This import is late, because a server that only listens does not need it.

        if too_large(group, prepared):
            return [error or size_error(turn) for error in prepared.errors]
        if batch is None:
            return prepared.errors
        try:
            self._log(turn, group, batch)
        except RecordsError as refused:
            for at, _ in prepared.offsets if turn.quirks.refused_commit_drops_pending else ():
                group.offsets.refused_in_transaction(batch.producer_id, at)
            return [error or int(refused.error_code) for error in prepared.errors]
        group.offsets.commit_in_transaction(batch.producer_id, prepared.offsets)
        self._in_transactions.setdefault((group.partition, batch.producer_id), {})[group.group_id] = None
        return prepared.errors

    def _log(self, turn: Turn, group: GroupType, batch: Batch) -> None:
        from ..log.producers import Origin

        partition = self._topics.require_partition(OFFSETS_TOPIC, group.partition)
        self._topics.write(turn, self._topics.require(OFFSETS_TOPIC), partition, [batch], Origin.COORDINATOR)
        self._topics.fetches.changed(turn, [(OFFSETS_TOPIC, group.partition)])

    def _transaction_ended(self, turn: Turn, topic: str, partition: int, marker: Marker) -> None:
        """Commit or drop the pending offsets of a transaction, because its marker was written to a partition of the offsets topic."""
        if topic != OFFSETS_TOPIC:
            return
        for group_id in self._in_transactions.pop((partition, marker.producer_id), ()):
            group, log = self._groups.get(group_id), self._logs.get(partition, {})
            if group is not None:
                turn.begin(partial(self._end_pending, group_id, group.offsets, marker), group)
            elif group_id in log:
                for _ in self._end_pending(group_id, log[group_id].offsets, marker, turn):
                    pass

    def _end_pending(self, group_id: str, offsets: CommittedOffsets, marker: Marker, turn: Turn) -> Steps:
        count = yield from offsets.end_transaction(marker.producer_id, marker.committed)
        why = (causes.transaction_committed if marker.committed else causes.transaction_aborted)(marker.producer_id)
        turn.note("offsets_of_transaction", group=group_id, offsets=count, cause=why.cause, reason=why.sentence)

    def in_transaction(self, producer_id: int) -> list[str]:
        """Return the ids of the groups in which the producer has pending offsets."""
        return sorted(group_id for (_, each), groups in self._in_transactions.items() if each == producer_id for group_id in groups)

    def topic_changed(self, turn: Turn, name: str) -> None:
        """Tell the groups that a topic was created, deleted, or given more partitions."""
        if self._following:
            turn.begin(partial(self._tell_changed, name))

    def _tell_changed(self, name: str, turn: Turn) -> Steps:
        for number, group_id in enumerate(list(self._following)):
            group = self._groups.get(group_id)
            if group is not None:
                group.topic_changed(turn, name)
            if not number % A_FEW:
                yield

    def topic_deleted(self, turn: Turn, name: str) -> None:
        """Drop the offsets of a deleted topic in every group. With the offsets topic, everything in the logs is dropped."""
        if name == OFFSETS_TOPIC:
            self._logs.clear()
            self._remembered.clear()
            self._in_transactions.clear()
        self.topic_changed(turn, name)
        left, remembered = self._with_offsets.take(name), self._remembered.take(name)
        if left or remembered or turn.quirks.deleted_topic_ends_idle_groups:
            turn.begin_on_offsets(partial(self._discard_topic, name, left, remembered), left)

    def _discard_topic(self, name: str, left: dict[str, int], remembered: dict[str, int], turn: Turn) -> Steps:
        for group_id in sorted(left, key=left.__getitem__):
            group = self._groups.get(group_id)
            if group is None:  # The group's coordinator has moved away between two steps of this work.
                remembered[group_id] = self.hosting.partition_of(group_id)
            else:
                yield from self._discard_topic_in(group, name, turn)
            del left[group_id]
            yield
        for _, group_id in sorted((partition, group_id) for group_id, partition in remembered.items()):
            log = self._logs.get(remembered[group_id], {})
            if group_id in log:
                log[group_id].offsets.discard_topic(name)
            yield
        if turn.quirks.deleted_topic_ends_idle_groups:
            yield from self._end_idle(turn)

    def _discard_topic_in(self, group: GroupType, name: str, turn: Turn) -> Steps:
        for number, at in enumerate(group.offsets.in_topic(name)):
            was_committed = at in group.offsets
            group.offsets.discard(at, turn.quirks.last_offset_deletes_group)
            if was_committed:
                turn.note("offset_removed", group=group.group_id, topic=name, partition=at[1], reason="the topic was deleted")
            if number % A_FEW == A_FEW - 1:
                yield

    def _end_idle(self, turn: Turn) -> Steps:
        """Delete all groups without members and offsets, because Kafka 3.9 does so when any topic is deleted
        (GroupMetadataManager.cleanupGroupMetadata)."""
        for group in list(self._groups.values()):
            self._end_if_idle(turn, group)
            yield

    def _end_if_idle(self, turn: Turn, group: GroupType) -> None:
        idle = group.is_empty() and group.offsets.used_up and self._groups.get(group.group_id) is group
        if idle and not on(self._environment.busy, group.group_id) and not self._environment.holds.keeps_group(group.group_id):
            self.delete(turn, group, causes.NOTHING_LEFT)

    def timer_handlers(self) -> dict[str, TimerHandler]:
        """Return the handlers of the timers that no single group sets, by timer name."""
        return {"retention": self._on_retention, **self.hosting.timer_handlers()}

    def fire(self, key: Key, turn: Turn) -> bool:
        """Handle a timer of a group and return whether that changed anything."""
        name, *subject = key
        group = self._groups.get(subject[0])
        if group is None or name not in group.timers or defers(self._environment.busy, key):
            return False
        fired = group.fire(turn, name, tuple(subject))
        if fired:
            self.convert(turn, group)
        return fired

    def _on_retention(self, subject: tuple[str, ...], turn: Turn) -> bool:
        turn.begin(self._drop_expired)
        return False

    def _drop_expired(self, turn: Turn) -> Steps:
        """Drop the expired offsets of all groups. The timer is recorded before the first drop."""
        told = False
        for group in list(self._groups.values()):
            for _ in self._drop_expired_of(turn, group):
                if turn.out and not told:
                    told = True
                    turn.out.insert(0, TimerFired("retention", ()))
                yield
        if self._groups:
            self._arm_retention(turn)

    def _drop_expired_of(self, turn: Turn, group: GroupType) -> Steps:
        if not on(self._environment.busy, group.group_id):
            yield from retention.sweep(turn, group)
        # A reserved id does not keep its group alive, so the JoinGroup with that id is refused with UNKNOWN_MEMBER_ID (25) after the sweep
        # (P2-d2).
        self._end_if_idle(turn, group)
        yield

    def _arm_retention(self, turn: Turn) -> None:
        """Start the timer of the next offset retention sweep, which comes at fixed multiples of the interval. Without groups there is
        none."""
        if ("retention",) not in turn.timers:
            interval = turn.settings.offsets_retention_check_interval_ms * NS_PER_MS
            turn.timers.set(("retention",), (turn.now // interval + 1) * interval)

    def led(self, partitions: Iterable[int], node: int) -> None:
        """From now on list the groups of these partitions as groups of the node."""
        self._listing.led(partitions, node)

    def left(self, partition: int, node: int) -> None:
        """Stop listing the groups of this partition as groups of the node."""
        self._listing.left(partition, node)

    def stopped(self, node: int) -> None:
        """Forget the node's tables, because they are empty when the node starts again."""
        self._listing.stopped(node)

    def unload(self, turn: Turn, partition: int, node: int | None) -> None:
        """Unload all groups in the partition of the offsets topic. Their records in the log stay (SERVER-49)."""
        why = causes.coordinator_left(partition, node)
        log = self._logs.setdefault(partition, {})
        for group in [group for group in self._groups.values() if group.partition == partition]:
            for work in on(self._environment.busy, group.group_id):
                turn.finish(work)
            log[group.group_id] = self._remember(group)
            group.unload(turn, why)
            self._forget(group)

    def _remember(self, group: GroupType) -> Remembered:
        offsets = CommittedOffsets()
        offsets.file_under(self._remembered, (group.partition, group.group_id))
        offsets.refill(group.offsets)
        return Remembered(type(group), group.stored, offsets)

    def load(self, turn: Turn, partition: int, node: int | None) -> None:
        """Restore the groups in a partition of the offsets topic from their last records. Offsets are always restored."""
        why = causes.coordinator_loaded(partition, node)
        for group_id, kept in self._logs.pop(partition, {}).items():
            if kept.stored is None and kept.offsets.used_up:
                continue  # Without record and offsets, the group existed only in the old coordinator's memory, with reserved ids at most.
            group = self._add(turn, group_id, kept.kind)
            group.offsets.refill(kept.offsets)
            kept.offsets.clear()
            group.restore(turn, kept.stored)
            turn.group_moved(group, "", why)
            self._arm_retention(turn)
            group.loaded(turn)
