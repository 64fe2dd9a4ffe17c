"""Manages the topics of the cluster: their partitions, ids, configs and placement.

A server imports this module before it listens, so logs, configs and fetches are imported when the first topic, setting or fetch needs them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from groupmock_codec import error_codes

from ..work import at_once
from . import names, placement
from .placement import NO_LEADER, Host
from .refusal import TopicRefused
from .replicas import elected, may_lead, new_partitions
from .topic_news import TopicNews

if TYPE_CHECKING:
    from groupmock_codec.records import Batch

    from ..environment import Environment
    from ..expiring import Expiring
    from ..turn import TimerHandler, Turn
    from .broker_configs import Overrides
    from .fetches import Fetches
    from .limits import LogLimits
    from .partition import Appended, Partition
    from .producers import Origin
    from .retention import Aging
    from .transactions import Marker


class Topic(msgspec.Struct, eq=False):
    """A topic with its partitions and its own configs. `configs` holds what was set on it, by Kafka's names."""

    name: str
    topic_id: bytes
    internal: bool
    configs: dict[str, str]
    partitions: list[Partition]

    @property
    def replication_factor(self) -> int:
        return len(self.partitions[0].replicas)


class Topics(TopicNews):
    """All topics by name and id, and the fetches that wait for their records."""

    def __init__(self, environment: Environment) -> None:
        super().__init__()
        self._environment = environment
        self._hosts: dict[str, Host] = {}
        self._topics: dict[str, Topic] = {}
        self._names: dict[bytes, str] = {}
        self._printed = names.PrintedNames()
        self._partition_count = 0
        self.made = 0
        self.deleted = 0
        # Maps a node id as text, or "" for all nodes, to the configs that were changed at run time.
        self._broker_configs: dict[str, dict[str, str]] = {}
        # With eligible leader replicas, the cluster has the config min.insync.replicas from the start (KIP-966; docs/kafka/differences.md).
        if environment.settings.quirks.min_insync_replicas_pinned:
            self._broker_configs[""] = {"min.insync.replicas": "1"}
        self._limits: dict[str, dict[int, LogLimits]] = {}  # `_limits` maps topic names (existing or not) and nodes to the limits of a log.

    def hosted_by(self, name: str, host: Host) -> None:
        """Register the host of an internal topic, which decides who leads the topic's partitions and is told of new ones."""
        self._hosts[name] = host

    @cached_property
    def fetches(self) -> Fetches:
        """Return the parked fetches and the fetch sessions."""
        from .fetches import Fetches

        return Fetches(self._environment, self)

    @cached_property
    def failed_creations(self) -> Expiring[str]:
        """Return why topics for groups could not be created lately (ST-70; Kafka: ExpiringErrorCache, of the same size)."""
        from ..expiring import Expiring

        return Expiring(1000)

    def timer_handlers(self) -> dict[str, TimerHandler]:
        """Return the handlers of the data plane's timers, by timer name."""
        return {"fetch": lambda subject, turn: self.fetches.expire(turn, subject), "log_retention": lambda _, turn: self._expire(turn)}

    def _expire(self, turn: Turn) -> bool:
        """Delete the records that are older than retention.ms. The timer has fired also if nothing was too old, so that a replay looks
        at the very same moments."""
        from . import retention

        turn.begin(lambda turn: retention.sweep(turn, self._aging()))
        return True

    def _aging(self, only: Topic | None = None) -> Iterator[Aging]:
        """Return the logs of one topic, or of all topics that exist now, except logs that were never written. A topic that is deleted
        during the iteration is skipped."""
        from .retention import Aging

        topics = list(self._topics.values()) if only is None else [only]
        there = (topic for topic in topics if self._topics.get(topic.name) is topic)
        written = ((topic, each) for topic in there for each in topic.partitions if each.segments.active is not None)
        return (Aging(topic.name, each, self.limits(topic, each.leader)) for topic, each in written)

    def disconnected(self, connection: int) -> None:
        """Forget the fetch that is parked on the connection."""
        if "fetches" in self.__dict__:  # Before the first Fetch, there are no parked fetches.
            self.fetches.disconnected(connection)

    def create(
        self,
        turn: Turn,
        name: str,
        partitions: int,
        factor: int | None = None,
        settings: Mapping[str, str] | None = None,
        topic_id: bytes | None = None,
    ) -> None:
        """Create a topic with configs that were checked, and place its replicas. `factor` None: default.replication.factor; `topic_id`
        None: a fresh one. Raises TopicRefused."""
        self.check_name(name)
        self.check_room(partitions)
        standard = self._environment.settings.default_replication_factor
        placed = self.place(name, partitions, standard if factor is None else factor)
        self.add(turn, name, at_once(placed), settings or {}, topic_id)

    def check_name(self, name: str) -> None:
        """Raise TopicRefused for a topic name that is invalid, exists, or collides with another by '.' and '_'."""
        reason = names.why_invalid(name)
        if reason is not None:
            raise TopicRefused(error_codes.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")
        if name in self._topics:
            raise TopicRefused(error_codes.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        other = self._printed.collision(name)
        if other is not None:
            raise TopicRefused(error_codes.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")

    def add(
        self, turn: Turn, name: str, replicas: Sequence[list[int]], settings: Mapping[str, str], topic_id: bytes | None = None
    ) -> Topic:
        """Create a topic from checked configs and from one checked replica list per partition. `topic_id`: None for a fresh one."""
        return self.add_made(turn, name, at_once(new_partitions(self._environment, replicas)), settings, topic_id)

    def add_made(
        self, turn: Turn, name: str, partitions: list[Partition], settings: Mapping[str, str], topic_id: bytes | None = None
    ) -> Topic:
        """Create a topic from checked configs and from partitions that `new_partitions` returned."""
        topic_id = self._new_id() if topic_id is None else topic_id
        topic = Topic(name, topic_id, name in names.INTERNAL, dict(settings), partitions)
        # `record_limit` may have stored limits before the topic existed, which do not include the topic's own configs.
        self._limits.pop(name, None)
        self.made += 1
        self._topics[name] = topic
        self._names[topic.topic_id] = name
        self._partition_count += len(topic.partitions)
        self._printed.add(name)
        turn.note("topic_created", topic=name, partitions=len(topic.partitions), topic_id=topic.topic_id)
        self._elected(turn, topic, 0)
        self._tell_changed(turn, topic.name)
        return topic

    def _new_id(self) -> bytes:
        """Draw an id that no topic has, because a command may set the same seed twice (`reseed`) and then the same ids are drawn again."""
        drawn = self._environment.dice.uuid_bytes()
        while drawn in self._names:
            drawn = self._environment.dice.uuid_bytes()
        return drawn

    def _elected(self, turn: Turn, topic: Topic, first: int) -> None:
        """Tell the host of an internal topic about the leaders of its new partitions."""
        host = self._hosts.get(topic.name)
        if host is not None:
            host.elected(turn, first, [partition.leader for partition in topic.partitions[first:]])

    def grow(self, turn: Turn, name: str, partitions: int) -> None:
        """Raise the topic's number of partitions to `partitions`. Raises TopicRefused."""
        topic = self.require(name)
        if partitions <= len(topic.partitions):
            raise TopicRefused(
                error_codes.INVALID_PARTITIONS,
                f"The topic {name} currently has {len(topic.partitions)} partition(s); {partitions} would not be an increase.",
            )
        self.check_room(partitions - len(topic.partitions))
        added = range(len(topic.partitions), partitions)
        replicas = at_once(self.replicas(name, added, topic.replication_factor))
        self.extend(turn, topic, at_once(new_partitions(self._environment, replicas, added.start)))

    def extend(self, turn: Turn, topic: Topic, partitions: list[Partition]) -> None:
        """Add partitions that `new_partitions` returned to a topic."""
        first = len(topic.partitions)
        topic.partitions += partitions
        self._partition_count += len(partitions)
        turn.note("topic_grown", topic=topic.name, partitions=len(topic.partitions))
        self._elected(turn, topic, first)
        self.fetches.changed(turn, ((topic.name, partition.index) for partition in partitions))
        self._tell_changed(turn, topic.name)

    def delete(self, turn: Turn, name: str) -> None:
        """Delete a topic with its records and its committed offsets. Raises TopicRefused."""
        topic = self.require(name)
        # The topic is removed first, because the waiting fetches that are checked below must not find it, which ends their wait.
        del self._topics[name], self._names[topic.topic_id]
        self._limits.pop(name, None)
        self._partition_count -= len(topic.partitions)
        self.deleted += 1
        self._printed.remove(name)
        turn.note("topic_deleted", topic=name)
        self._tell_deleted(turn, name)
        self.fetches.changed(turn, [(name, partition.index) for partition in topic.partitions])

    def lead(self, turn: Turn, name: str, partition: int, node: int) -> None:
        """Make another node the leader of a partition, which raises its leader epoch by one. Raises TopicRefused."""
        self.lead_all(turn, [(name, partition, node)])

    def lead_all(self, turn: Turn, moves: Iterable[tuple[str, int, int]]) -> None:
        """Move the leaders of many partitions, and check the waiting fetches once. Raises TopicRefused."""
        known, moved = {each.node_id for each in self._environment.identity.nodes}, []
        for name, partition, node in moves:
            found, host = self.require_partition(name, partition), self._host(name, partition)
            if node not in known:
                raise TopicRefused(error_codes.INVALID_REQUEST, f"There is no node {node}.")
            if host is not None:
                host.load(turn, partition, node, 0)
            else:
                self._lead(turn, name, found, node)
                moved.append((name, partition))
        self.fetches.changed(turn, moved)

    def hosted(self, turn: Turn, name: str, partition: int, node: int | None) -> None:
        """Set the leader of an internal topic's partition, as the topic's host (core.hosting) has decided. None: no node leads it."""
        found = self.find(name, partition)
        if found is not None and found.leader != (NO_LEADER if node is None else node):
            self._lead(turn, name, found, NO_LEADER if node is None else node)
            self.fetches.changed(turn, [(name, found.index)])

    def _host(self, name: str, partition: int) -> Host | None:
        host = self._hosts.get(name)
        return host if host is not None and partition < host.places else None

    def _lead(self, turn: Turn, name: str, found: Partition, node: int) -> None:
        if node not in found.replicas and node != NO_LEADER:
            # A command may move a leader to any node, and a leader must be one of the replicas.
            found.replicas = [node, *found.replicas[1:]]
        found.lead(node)
        turn.note("leader_moved", topic=name, partition=found.index, leader=node, leader_epoch=found.leader_epoch)
        self._tell_led(turn, name)

    def node_stopped(self, turn: Turn, node: int) -> None:
        """Give the partitions that the node led to their next replica that is up, or to no leader (-1). Group coordinators moved before."""
        for topic in self._topics.values():
            moved = [partition for partition in topic.partitions if partition.leader == node]
            for partition in moved:
                partition.lead(elected(self._environment, partition))
            self._tell_leaders(turn, topic, moved)

    def node_started(self, turn: Turn, node: int) -> None:
        """Make the node the leader of its replicas that have no leader. Group coordinators have begun there before."""
        for topic in self._topics.values():
            orphans = [partition for partition in topic.partitions if partition.leader == NO_LEADER and node in partition.replicas]
            moved = [partition for partition in orphans if may_lead(self._environment, partition, node)]
            for partition in moved:
                partition.lead(node)
            self._tell_leaders(turn, topic, moved)

    def _tell_leaders(self, turn: Turn, topic: Topic, moved: list[Partition]) -> None:
        for each in moved:
            turn.note("leader_moved", topic=topic.name, partition=each.index, leader=each.leader, leader_epoch=each.leader_epoch)
        if moved:
            self.fetches.changed(turn, [(topic.name, each.index) for each in moved])
            self._tell_led(turn, topic.name)

    def append(self, turn: Turn, topic: str, partition: int, batch: bytes) -> int:
        """Append record batches on behalf of the server, not of a client, and wake the waiting fetches. Returns the first offset. Raises
        TopicRefused, RecordsError."""
        from groupmock_codec.records import RecordsError, read_batches

        from .producers import Origin

        found = self.require_partition(topic, partition)
        batches = read_batches(batch)
        if not batches:
            raise RecordsError(error_codes.INVALID_RECORD, "no record batch")
        appended = self.write(turn, self._topics[topic], found, batches, Origin.CLIENT)
        self.fetches.changed(turn, [(topic, partition)])
        return appended.base_offset

    def write(self, turn: Turn, topic: Topic, partition: Partition, batches: list[Batch], origin: Origin) -> Appended:
        """Append checked batches to a partition. The caller calls `fetches.changed` once all of a request is written, as Kafka does."""
        limits = self.limits(topic, partition.leader)
        appended = partition.append(batches, limits, turn.wall_ms, origin)
        self._watch_age(turn, topic, partition, limits, appended.base_offset)
        return appended

    def mark(self, turn: Turn, topic: Topic, partition: Partition, marker: Marker) -> None:
        """Append the marker that ends a transaction. The caller calls `fetches.changed`. Raises RecordsError for one of the past."""
        limits = self.limits(topic, partition.leader)
        self._watch_age(turn, topic, partition, limits, partition.mark(marker, limits, turn.wall_ms))
        self._tell_marked(turn, topic.name, partition.index, marker)

    def _watch_age(self, turn: Turn, topic: Topic, partition: Partition, limits: LogLimits, offset: int) -> None:
        """Set the retention timer if the offset begins the log's oldest segment, because only this segment decides when something is too
        old."""
        if limits.retention_ms >= 0 and partition.segments.begins_at(offset):
            from . import retention

            retention.watch(turn, [retention.Aging(topic.name, partition, limits)])

    def get(self, name: str) -> Topic | None:
        return self._topics.get(name)

    def find(self, name: str, partition: int) -> Partition | None:
        """Return the partition, or None if the topic or the partition does not exist."""
        topic = self._topics.get(name)
        return topic.partitions[partition] if topic is not None and 0 <= partition < len(topic.partitions) else None

    def require(self, name: str) -> Topic:
        """Return the topic with this name. Raises TopicRefused(UNKNOWN_TOPIC_OR_PARTITION)."""
        topic = self._topics.get(name)
        if topic is None:
            raise TopicRefused(error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        return topic

    def require_partition(self, name: str, partition: int) -> Partition:
        """Return the partition of a topic. Raises TopicRefused(UNKNOWN_TOPIC_OR_PARTITION)."""
        found = self.find(name, partition)
        if found is None:
            raise TopicRefused(error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"There is no partition {partition} of topic '{name}'.")
        return found

    def partitions(self, name: str) -> int | None:
        """Return the number of the topic's partitions, or None for an unknown topic."""
        topic = self._topics.get(name)
        return len(topic.partitions) if topic is not None else None

    def topic_id(self, name: str) -> bytes | None:
        """Return the 16 bytes of the topic's id, or None for an unknown topic."""
        topic = self._topics.get(name)
        return topic.topic_id if topic is not None else None

    def name_of(self, topic_id: bytes) -> str | None:
        """Return the name of the topic with this id, or None."""
        return self._names.get(topic_id)

    def lack(self, spots: Iterable[tuple[bytes, int]]) -> bool:
        """Return whether one of these partitions, by topic id, is not in its topic. A topic that does not exist lacks nothing."""
        return any(not 0 <= index < count for topic, index in spots if (count := self.partitions(self.name_of(topic) or "")) is not None)

    def names(self) -> list[str]:
        """Return the names of all topics in the order of their creation."""
        return list(self._topics)

    def __contains__(self, name: str) -> bool:
        return name in self._topics

    @property
    def count(self) -> int:
        return len(self._topics)

    @property
    def partition_count(self) -> int:
        return self._partition_count

    def check_room(self, partitions: int) -> None:
        """Raise TopicRefused(POLICY_VIOLATION) if the cluster would have more partitions than groupmock.cluster.max.partitions allows."""
        most = self._environment.settings.cluster_max_partitions
        if self._partition_count + partitions > most:
            raise TopicRefused(
                error_codes.POLICY_VIOLATION,
                f"The cluster has {self._partition_count} partition(s) and would have {partitions} more, which is more than "
                f"groupmock.cluster.max.partitions allows ({most}).",
            )

    def controller(self) -> int:
        """Return the node id of the controller, which is always the first node. (A KRaft broker names any live broker; older ones the
        elected one.)"""
        return (self._environment.up or self._environment.identity.nodes)[0].node_id

    def leader_of(self, topic: str, partition: int) -> int:
        """Return the node id of the partition's leader. Raises TopicRefused."""
        return self.require_partition(topic, partition).leader

    def batches(self, topic: str, partition: int) -> Iterator[Batch]:
        """Yield the stored batches of a partition, starting with the batch that contains the log start offset. Raises TopicRefused."""
        return self.require_partition(topic, partition).batches()

    def place(self, name: str, partitions: int, factor: int) -> Generator[None, None, list[list[int]]]:
        """Return the replicas for the partitions of a new topic, in steps. Raises TopicRefused for impossible numbers, in the words of
        the controller."""
        placement.check_numbers(partitions, factor, len(self._environment.identity.nodes), self._environment.settings.quirks)
        return self.replicas(name, range(partitions), factor)

    def replicas(self, name: str, partitions: range, factor: int) -> Generator[None, None, list[list[int]]]:
        """Return the replicas of additional partitions of a topic, the leader first, in steps."""
        host, node_ids = self._hosts.get(name), [node.node_id for node in self._environment.identity.nodes]
        leader_of = None if host is None else lambda partition: host.leader_of(partition) if partition < host.places else None
        return placement.replicas(name, partitions, factor, node_ids, leader_of)

    def configure(self, turn: Turn, topic: Topic, settings: Mapping[str, str]) -> None:
        """Replace the topic's own configs by configs that were checked."""
        from . import retention

        topic.configs = dict(settings)
        self._limits.pop(topic.name, None)
        retention.watch(turn, self._aging(topic))

    def configure_broker(self, turn: Turn, resource: str, settings: Mapping[str, str]) -> None:
        """Replace the configs that were changed at run time for one node (its id as text) or for all nodes ("")."""
        from . import retention

        self._broker_configs[resource] = dict(settings)
        self._limits.clear()
        turn.begin(lambda turn: retention.watch_many(turn, self._aging()))

    def broker_overrides(self, node: int) -> Overrides:
        """Return the broker configs that were changed at run time and apply to that node."""
        from .broker_configs import CLUSTER_WIDE, Overrides

        changed = self._broker_configs
        return Overrides(changed.get(str(node), {}), changed.get(CLUSTER_WIDE, {}), ever=str(node) in changed or CLUSTER_WIDE in changed)

    def config(self, topic: Topic, name: str, node: int) -> str:
        """Return the value of a topic's config that is in effect on that node."""
        from . import configs

        return configs.effective(name, topic.configs, self.broker_overrides(node), self._environment.settings)

    def limits(self, topic: Topic, node: int) -> LogLimits:
        """Return the topic's limits that are in effect for appends on that node."""
        return self._limits_of(topic.name, topic.configs, node)

    def record_limit(self, name: str, node: int) -> int:
        """Return max.message.bytes of the topic on that node, which limits the batches of a coordinator. The topic need not exist."""
        topic = self._topics.get(name)
        return self._limits_of(name, {} if topic is None else topic.configs, node).max_message_bytes

    def _limits_of(self, name: str, set_on_topic: Mapping[str, str], node: int) -> LogLimits:
        name = name if set_on_topic else ""  # Topics without own configs share one object, because there may be thousands of them.
        nodes = self._limits.get(name)
        known = None if nodes is None else nodes.get(node)
        if known is None:
            from . import configs

            known = configs.limits(set_on_topic, self.broker_overrides(node), self._environment.settings)
            self._limits.setdefault(name, {})[node] = known
        return known
