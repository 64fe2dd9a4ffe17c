"""Build a cluster as earlier requests may have left it, with `size` groups, members and partitions. Half of the partitions are in one
topic, and there are a twentieth as many consumer groups and open transactions. Its rows go to a ring and a log."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING, Final

from groupmock.journal.ring import Ring
from groupmock.rig import WireRig
from groupmock.rig.wire import read_response, request
from groupmock.watch.log import LogSink
from groupmock_codec.group_states import STABLE
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from groupmock_codec.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

from .meter import StepMeter

if TYPE_CHECKING:
    from groupmock.rig import Wire

BIG: Final = "big"
"""A Stable group of static members, each with its own list of protocols."""
MANY: Final = "many-offsets"
"""A group without members that has an offset for each partition of WIDE."""
WIDE: Final = "wide"
"""A topic of `size` partitions."""
JOIN, SYNC, COMMIT, FETCH, BEAT, INIT, ADD_OFFSETS, TXN_COMMIT = (11, 5), (14, 3), (8, 6), (1, 11), (68, 1), (22, 4), (25, 3), (28, 3)
AT_ONCE: Final = 500


class BigState:
    """The cluster that is measured, with its names: `topics`, `groups`, `members`, `instances`, the topics' `ids`, and the `generation`
    of group BIG."""

    def __init__(self, size: int, profile: str | None = None, settings: Mapping[str, object] | None = None) -> None:
        self.size = size
        quick = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 0}
        self.slices = StepMeter()
        """Holds the slices of work that a request has put off, because they do not count as its immediate cost."""
        self.rig = WireRig.make(profile=profile, settings={**quick, **(settings or {})}, slices=self.slices)
        self.wide = size // 2
        self.topics = [f"t{number:05}" for number in range(size - self.wide)]
        self.groups = [f"g{number:05}" for number in range(size)]
        self.instances = [f"i{number:05}" for number in range(size)]
        for name in self.topics:
            self.rig.command("create_topic", name=name, partitions=1)
        self.rig.command("create_topic", name=WIDE, partitions=self.wide)
        topics = self.rig.core.cluster.topics
        self.ids = [topics.topic_id(name) or b"" for name in self.topics]
        self.members = self._join()
        self.generation = 1
        self._commit()
        for sink in Ring(), LogSink("text"):
            self.rig.journal.add(sink)
        self._follow()
        self._open()
        self.work_off()
        self.session = self._fetch_session()

    def _join(self) -> list[str]:
        """Let all members join group BIG in one phase, and its leader assign."""
        wires: list[Wire] = []
        for number, instance in enumerate(self.instances):
            protocols = [JoinGroupRequestProtocol(name="range", metadata=b"\0\1\0\0\0\1\0\6t%05d\0\0\0\0" % (number % 100000) + bytes(8))]
            wire = self.rig.connect()
            wire.send(request(*JOIN, JoinGroupRequest(
                group_id=BIG, session_timeout_ms=1_800_000, rebalance_timeout_ms=1_800_000, group_instance_id=instance,
                protocol_type="consumer", protocols=protocols,
            )))  # fmt: skip
            wires.append(wire)
        self.rig.sleep(1)
        self.work_off()
        group = self.rig.core.cluster.groups.find(BIG)
        assert group is not None
        shares = [SyncGroupRequestAssignment(member_id=each, assignment=bytes(50)) for each in group.members]
        leader = next(wire for wire in wires if len(wire.data) == max(len(each.data) for each in wires))
        leader.data = b""
        leader.send(request(*SYNC, SyncGroupRequest(
            group_id=BIG, generation_id=group.generation, member_id=group.leader_id or "",
            group_instance_id=group.members[group.leader_id or ""].group_instance_id, assignments=shares,
        )))  # fmt: skip
        self.work_off()
        assert str(group.state) == STABLE, group.state
        return [group.static_members[instance] for instance in self.instances]

    def _commit(self) -> None:
        wire = self.rig.connect()
        for first in range(0, self.wide, AT_ONCE):
            partitions = [
                OffsetCommitRequestPartition(partition_index=index, committed_offset=1, committed_metadata="m")
                for index in range(first, min(first + AT_ONCE, self.wide))
            ]
            wire.ask(*COMMIT, OffsetCommitRequest(group_id=MANY, topics=[OffsetCommitRequestTopic(name=WIDE, partitions=partitions)]))
        one = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="m")
        for group, topic in zip(self.groups, cycle(self.topics), strict=False):
            wire.ask(*COMMIT, OffsetCommitRequest(group_id=group, topics=[OffsetCommitRequestTopic(name=topic, partitions=[one])]))

    def work_off(self) -> None:
        """Run all slices of work that requests have put off."""
        while self.slices.waiting:
            self.rig.driver.work_on()

    def _follow(self) -> None:
        """Create consumer groups that subscribe to a topic by its name, and by a regular expression."""
        wire = self.rig.connect()
        for number in range(self.size // 20):
            names, regex = (["t00000"], None) if number % 2 else (None, "t.*")
            wire.send(request(*BEAT, ConsumerGroupHeartbeatRequest(
                group_id=f"c{number:05}", member_id="m", member_epoch=0, rebalance_timeout_ms=1_800_000, subscribed_topic_names=names,
                subscribed_topic_regex=regex, topic_partitions=[],
            )))  # fmt: skip
            self.work_off()

    def _open(self) -> None:
        """Open transactions, each with one partition and one offset of group MANY."""
        wire = self.rig.connect()
        for number in range(self.size // 20):
            name = f"x{number:05}"
            given = wire.ask(*INIT, InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=900_000))
            who = {"transactional_id": name, "producer_id": given.producer_id, "producer_epoch": given.producer_epoch, "group_id": MANY}
            wire.ask(*ADD_OFFSETS, AddOffsetsToTxnRequest(**who))
            one = TxnOffsetCommitRequestPartition(partition_index=number % self.wide, committed_offset=1, committed_metadata="m")
            wire.ask(*TXN_COMMIT, TxnOffsetCommitRequest(**who, topics=[TxnOffsetCommitRequestTopic(name=WIDE, partitions=[one])]))

    def _fetch_session(self) -> int:
        """Create a fetch session with every partition of WIDE, begun with a few and extended."""
        wire, session, epoch = self.rig.connect(), 0, 0
        for first in range(0, self.wide, AT_ONCE):
            indexes = range(first, min(first + AT_ONCE, self.wide))
            partitions = [FetchPartition(partition=index, partition_max_bytes=1000) for index in indexes]
            wire.send(request(*FETCH, FetchRequest(
                session_id=session, session_epoch=epoch, max_bytes=100_000, topics=[FetchTopic(topic=WIDE, partitions=partitions)]
            )))  # fmt: skip
            frames = wire.take()
            if not frames:  # The server has refused the request, so the Fetch session keeps its size.
                break
            session, epoch = read_response(*FETCH, frames[0])[1].session_id, epoch + 1  # type: ignore[attr-defined]
        self.session_epoch = epoch
        return session
