"""A cluster without sockets on a virtual clock that checks every group's invariants after every event."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from groupmock.core.cluster import Cluster, cluster_on
from groupmock.core.core import Core
from groupmock.core.effects import MemberChanged, Moved, TimerFired
from groupmock.core.environment import Environment
from groupmock.core.groups.classic.type import ClassicGroup
from groupmock.core.groups.registry import GroupRegistry
from groupmock.core.identity import Identity, Node
from groupmock.core.log.partition import Partition
from groupmock.core.log.topics import Topic
from groupmock.core.settings import Quirks, Settings
from groupmock.core.transactions.tenancy import TransactionTenancy
from groupmock.core.turn import Turn
from groupmock.rig import Ask, CoreRig
from groupmock.rig.versions import highest
from groupmock_codec.declare import Message
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment

EPOCH_MS = 1_700_000_000_000

Protocols = list[tuple[str, bytes]]


def subscription(*topics: str, user_data: bytes = b"") -> bytes:
    names = b"".join(len(name.encode()).to_bytes(2, "big") + name.encode() for name in topics)
    return b"\0\0" + len(topics).to_bytes(4, "big") + names + len(user_data).to_bytes(4, "big") + user_data


RANGE: Protocols = [("range", subscription("orders"))]


class StandInTopics:
    """The part of the data plane that the group coordinator uses: names, ids, partition counts and a size limit."""

    def __init__(self, topics: dict[str, int], largest_batch: int) -> None:
        self.counts = dict(topics)
        self.deleted = 0
        self.largest_batch = largest_batch

    def record_limit(self, _name: str, _node: int) -> int:
        """Return the largest batch size of the offsets topic."""
        return self.largest_batch

    def partitions(self, name: str) -> int | None:
        return self.counts.get(name)

    def topic_id(self, name: str) -> bytes | None:
        """Return sixteen bytes that are derived from the name."""
        return name.encode().ljust(16, b"-")[:16] if name in self.counts else None

    def name_of(self, topic_id: bytes) -> str | None:
        return next((name for name in self.counts if self.topic_id(name) == topic_id), None)

    def get(self, name: str) -> Topic:
        """Return a coordinator's internal topic, which exists for any name and is led by node 1, so that no test creates one."""
        return Topic(name, b"", True, {}, [Partition(index, [1]) for index in range(50)])

    def hosted_by(self, name: str, host: object) -> None:
        """Ignore the call, because these topics are neither created nor moved on demand."""

    def when_changed(self, told: object) -> None:
        """Ignore the callback, because no topic is created or grows."""

    def when_deleted(self, told: object) -> None:
        """Ignore the callback, because no topic is ever deleted."""

    def when_led(self, told: object) -> None:
        """Ignore the callback, because no leader moves."""

    def when_marked(self, told: object) -> None:
        """Ignore the callback, because no transaction ends."""

    def timer_handlers(self) -> dict[str, Any]:
        """Return no handlers, because no Fetch waits for these topics."""
        return {}

    def hosted(self, turn: Turn, name: str, partition: int, node: int | None) -> None:
        """Ignore the call, because the leader of these topics does not matter."""

    def node_stopped(self, turn: Turn, node: int) -> None:
        """Ignore the stopped node, because these topics have no leader."""

    def node_started(self, turn: Turn, node: int) -> None:
        """Ignore the started node, because these topics have no leader."""


class World:
    """A rig with short methods for the group APIs. Each request has its own connection, and times are in milliseconds. With `at_once`
    requests arrive together, and the records that they make the coordinator write are committed only by the next `fire` or `sleep`."""

    def __init__(self, core: Core) -> None:
        self.rig, self.core, self.cluster, self.environment = CoreRig(core, coded=False), core, core.cluster, core.environment
        self.effects, self.command, self.sleep, self.turn = self.rig.effects, self.rig.command, self.rig.sleep, self.rig.turn
        self.at_once = False
        self.asked: dict[int, Ask] = {}

    @classmethod
    def make(
        cls,
        *,
        topics: dict[str, int] | None = None,
        nodes: int = 1,
        quirks: Quirks | None = None,
        seed: int = 1,
        real_topics: bool = False,
        **settings: Any,
    ) -> World:
        """Create a cluster whose Settings have these fields. The initial delay has Kafka's default.

        With `real_topics` it has the data plane (with none of `topics`) instead of its stand-in.
        """
        settings = {"group_initial_rebalance_delay_ms": 3000, "quirks": quirks or Quirks(), **settings}
        identity = Identity("world", tuple(Node(1 + n, "127.0.0.1", 9092 + n) for n in range(nodes)), ())
        environment = Environment(Settings(**settings), identity, random.Random(seed), EPOCH_MS)
        if real_topics:
            return cls(Core(cluster_on(environment)))
        counts = {"orders": 4} if topics is None else topics
        # The group coordinator needs only this part of the data plane.
        stand_in: Any = StandInTopics(counts, environment.settings.message_max_bytes)
        parts = GroupRegistry(environment, stand_in), TransactionTenancy(environment, stand_in)
        return cls(Core(Cluster(environment, stand_in, *parts)))

    @property
    def now(self) -> int:
        """Return the run time of the virtual clock in milliseconds."""
        return int(self.rig.now_ms)

    # -- Driving

    def send(
        self, message: Message, key: int, version: int | None = None, *, node: int = 1, client: str | None = "c", host: str = "/10.0.0.7"
    ) -> Ask:
        """Send a request and return it with its answer if the answer exists already."""
        at = highest(key) if version is None else version
        ask = self.asked[len(self.asked) + 1] = self.rig.send(key, at, message, client_id=client, node=node, client_host=host)
        timers = self.environment.timers
        if not self.at_once and timers.next() == self.rig.now and timers.armed("write"):
            self.fire()
        return ask

    def finish_phase(self, group: str = "g") -> None:
        """Advance the clock exactly to the end of the group's join phase."""
        self.rig.until(lambda: self.group(group).state != "PreparingRebalance")

    def fire(self) -> None:
        """Fire the timers that are due at the current time."""
        self.sleep(0)

    # -- Views

    def group(self, group_id: str = "g") -> ClassicGroup:
        """Return the group or fail with AssertionError."""
        group = self.find(group_id)
        assert group is not None, f"no group {group_id!r}"
        return group

    def find(self, group_id: str = "g") -> ClassicGroup | None:
        """Return the classic group or None. Here all groups are classic ones."""
        group = self.cluster.groups.find(group_id)
        assert group is None or isinstance(group, ClassicGroup)
        return group

    def groups(self) -> list[ClassicGroup]:
        return [group for group in self.cluster.groups.all() if isinstance(group, ClassicGroup)]

    def moves(self) -> list[tuple[str, str, int]]:
        """Return every state change so far as (before, after, generation)."""
        return [(one.before, one.after, one.generation) for one in self.rig.of(Moved)]

    def reasons(self) -> list[str]:
        return [one.reason for one in self.rig.of(Moved)]

    def changes(self, what: str) -> list[str]:
        """Return the ids of the members that changed in the given way."""
        return [one.member_id for one in self.rig.of(MemberChanged) if one.what == what]

    def fired(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(one.timer, one.subject) for one in self.rig.of(TimerFired)]

    # -- The group APIs in short

    def join(
        self,
        member_id: str = "",
        *,
        group: str = "g",
        version: int = 9,
        protocols: Protocols | None = None,
        protocol_type: str = "consumer",
        instance: str | None = None,
        session: int = 10_000,
        rebalance: int = 60_000,
        client: str | None = "c",
        reason: str | None = None,
        node: int = 1,
    ) -> Ask:
        listed = [JoinGroupRequestProtocol(name=name, metadata=data) for name, data in (RANGE if protocols is None else protocols)]
        message = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=session,
            rebalance_timeout_ms=rebalance,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=listed,
            reason=reason,
        )
        return self.send(message, 11, version, client=client, node=node)

    def enter(self, **how: Any) -> tuple[str, Ask]:
        """Join as a dynamic member, with a JoinGroup that gets MEMBER_ID_REQUIRED (79) and one with the id. Return the id and the second
        request."""
        first = self.join(**how)
        assert first.error == 79, first.answer
        return first.answer.member_id, self.join(first.answer.member_id, **how)

    def sync(
        self,
        member_id: str,
        generation: int | None = None,
        assignments: dict[str, bytes] | None = None,
        *,
        group: str = "g",
        version: int = 5,
        instance: str | None = None,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
        node: int = 1,
    ) -> Ask:
        """Send a SyncGroup; a generation of None means the group's current one."""
        message = SyncGroupRequest(
            group_id=group,
            generation_id=self.group(group).generation if generation is None else generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type if version >= 5 else None,
            protocol_name=protocol_name if version >= 5 else None,
            assignments=[SyncGroupRequestAssignment(member_id=one, assignment=data) for one, data in (assignments or {}).items()],
        )
        return self.send(message, 14, version, node=node)

    def beat(
        self,
        member_id: str,
        generation: int | None = None,
        *,
        group: str = "g",
        version: int = 4,
        instance: str | None = None,
        node: int = 1,
    ) -> int:
        return self.beats(member_id, generation, group=group, version=version, instance=instance, node=node).error

    def beats(
        self,
        member_id: str,
        generation: int | None = None,
        *,
        group: str = "g",
        version: int = 4,
        instance: str | None = None,
        node: int = 1,
    ) -> Ask:
        """Send a Heartbeat and return the request, whose answer may allow the driver to repeat it without asking the core (a lease)."""
        at = self.group(group).generation if generation is None else generation
        message = HeartbeatRequest(group_id=group, generation_id=at, member_id=member_id, group_instance_id=instance)
        return self.send(message, 12, version, node=node)

    def leave(
        self, *who: str | tuple[str, str | None], group: str = "g", version: int = 5, reason: str | None = None, node: int = 1
    ) -> Ask:
        """Send a LeaveGroup with member ids or (member id, instance id) pairs."""
        entries = [(one, None) if isinstance(one, str) else one for one in who]
        if version < 3:
            return self.send(LeaveGroupRequest(group_id=group, member_id=entries[0][0]), 13, version, node=node)
        members = [MemberIdentity(member_id=one, group_instance_id=instance, reason=reason) for one, instance in entries]
        return self.send(LeaveGroupRequest(group_id=group, members=members), 13, version, node=node)

    def commit(
        self,
        member_id: str = "",
        generation: int = -1,
        offsets: Iterable[tuple[str, int, int]] = (("orders", 0, 1),),
        *,
        group: str = "g",
        version: int = 9,
        instance: str | None = None,
        metadata: str | None = "",
        retention_ms: int = -1,
        node: int = 1,
    ) -> Ask:
        """Send an OffsetCommit of (topic, partition, offset) triples with a separate topic element for each."""
        topics = [
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset, committed_metadata=metadata)],
            )
            for topic, partition, offset in offsets
        ]
        message = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance,
            retention_time_ms=retention_ms,
            topics=topics,
        )
        return self.send(message, 8, version, node=node)

    def stable(self, count: int = 2, **how: Any) -> list[str]:
        """Create a Stable group of dynamic members and return their ids, the leader's first."""
        entered = [self.enter(**how) for _ in range(count)]
        self.finish_phase(how.get("group", "g"))
        ids = [member_id for member_id, _ in entered]
        group = how.get("group", "g")
        leader = self.group(group).leader_id or ""
        ids.sort(key=lambda member_id: member_id != leader)
        for member_id in reversed(ids):
            self.sync(member_id, assignments={one: f"for {one}".encode() for one in ids}, group=group, version=4)
        assert self.group(group).state == "Stable"
        return ids
