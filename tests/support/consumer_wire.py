"""Members of a consumer group on a driver without sockets, with a journal file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rig_journal import never

from groupmock.journal.file import FileSink
from groupmock.journal.journal import Sink
from groupmock.rig import Wire, WireRig
from groupmock.rig.consumer_member import ConsumerMember
from groupmock.rig.epoch_member import JOINING
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

SETTINGS = {"group.consumer.assignment.interval.ms": 0, "group.consumer.session.timeout.ms": 10_000}


class ConsumerWire:
    """One node, the topic `t` of four partitions and one group. Each member has its own connection and its name as client id."""

    def __init__(self, path: Path, sinks: Iterable[Sink] = (), group: str = "g", **settings: object) -> None:
        self.path, self.group = path, group
        told = [FileSink(str(path), never), *sinks]
        self.rig = WireRig.make(settings={**SETTINGS, **settings}, topics={"t": 4}, seed=3, sinks=told)
        self.members: dict[str, ConsumerMember] = {}
        self.wires: dict[str, Wire] = {}
        self.topic_id = self.rig.core.cluster.topics.topic_id("t") or b""

    def ask(self, member: str, key: int, version: int, message: Any) -> Any:
        if member not in self.wires or self.wires[member].closed:
            self.wires[member] = self.rig.connect()
        return self.wires[member].ask(key, version, message, member)

    def said(self, member: str, owned: list[int] | None = None, **fields: Any) -> ConsumerGroupHeartbeatRequest:
        own = None if owned is None else [TopicPartitions(topic_id=self.topic_id, partitions=owned)]
        if member not in self.members:
            self.members[member] = ConsumerMember(self.group, member, topics=["t"], rebalance_ms=60_000)
        return self.members[member].heartbeat_request(own, **fields)

    def beat(self, member: str, owned: list[int] | None = None, **fields: Any) -> Any:
        """Send a heartbeat and return the answer's error code, epoch and partitions (None for null)."""
        answer = self.ask(member, 68, 1, self.said(member, owned, **fields))
        self.members[member].told(answer)
        told = answer.assignment
        parts = None if told is None else [each for topic in told.topic_partitions for each in sorted(topic.partitions)]
        return answer.error_code, answer.member_epoch, parts

    def join(self, member: str, **fields: Any) -> Any:
        joins = {"member_epoch": JOINING, "subscribed_topic_names": ["t"], "rebalance_timeout_ms": 60_000, "topic_partitions": []}
        return self.beat(member, **{**joins, **fields})

    def commit(self, member: str) -> int:
        line = OffsetCommitRequestTopic(name="t", partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=5)])
        head: Any = {"group_id": self.group, "member_id": member, "generation_id_or_member_epoch": self.members[member].epoch}
        return int(self.ask(member, 8, 9, OffsetCommitRequest(**head, topics=[line])).topics[0].partitions[0].error_code)

    def fetched(self, member: str) -> int:
        asked = OffsetFetchRequestGroup(group_id=self.group, member_id=member, member_epoch=self.members[member].epoch, topics=None)
        return int(self.ask(member, 9, 9, OffsetFetchRequest(groups=[asked])).groups[0].error_code)


def handed_over(path: Path, sinks: Iterable[Sink] = (), group: str = "g") -> Path:
    """Play a hand-over of partitions between members and write its journal.

    A has all partitions, B joins at 1 s. At 1.5 s A is told to give two partitions up, and at 2 s it confirms. B has them at 2.2 s and
    leaves at 2.3 s; at 2.4 s A has all again. At 3 s C joins, at 3.1 s D. C, which was told to wait, never sends anything again, and A and
    D have everything when its session ends at 13 s.
    """
    world = ConsumerWire(path, sinks, group)
    world.join("A")
    world.rig.sleep(1_000)
    world.join("B")
    world.rig.sleep(500)
    world.beat("A")
    world.rig.sleep(500)
    world.beat("A", [0, 1])
    world.rig.sleep(200)
    world.beat("B")
    world.rig.sleep(100)
    world.beat("B", member_epoch=-1)
    world.rig.sleep(100)
    world.beat("A")
    world.rig.sleep(600)
    world.join("C")
    world.rig.sleep(100)
    world.join("D")
    world.rig.sleep(900)
    world.beat("A")
    world.beat("A", [0, 1])
    world.beat("D")
    for _ in range(5):
        world.rig.sleep(2_000)
        world.beat("A")
        world.beat("D")
    world.beat("A", [0, 1])
    world.beat("D")
    world.rig.close()
    return path


def in_trouble(path: Path) -> Path:
    """Play a consumer group with fencing, absence and revocation and write its journal.

    The static member A is fenced and joins again without its instance. It is away for a while, and C takes its place; B joins; the topic
    grows; D joins, and the journal ends while C still has partitions to give up.
    """
    world = ConsumerWire(path)
    world.join("A", instance_id="i")
    world.rig.sleep(1_000)
    world.rig.command("fence_member", group="g", member="A")
    world.rig.sleep(1_000)
    world.join("A")
    world.rig.sleep(500)
    world.beat("A", member_epoch=-2, instance_id="i")
    world.rig.sleep(2_000)
    world.join("C", instance_id="i")
    world.join("B")
    world.beat("C")
    world.beat("C", [0, 1])
    world.beat("B")
    world.rig.command("grow_topic", name="t", partitions=6)
    world.rig.sleep(100)
    world.beat("C")
    world.beat("B")
    world.join("D")
    world.rig.sleep(400)
    world.beat("C")
    world.rig.close()
    return path
