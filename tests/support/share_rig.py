"""Make a cluster with a topic and a share group whose partitions are initialized, for tests of records in flight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groupmock.core.effects import Note
from groupmock.rig import CoreRig
from groupmock.rig.share_session import ShareSession
from groupmock_codec.messages.k21_delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from groupmock_codec.records import NewRecord, encode_batch

TOPIC = "orders"
GROUP = "workers"
LOCK_MS = 15_000


class ShareRig:
    """A rig with a topic and a share group that begins at the log's start."""

    def __init__(self, profile: str | None = None, nodes: int = 1, partitions: int = 2, **configs: str) -> None:
        self.rig = CoreRig.make(
            profile=profile, nodes=nodes, topics={TOPIC: partitions}, settings={"group.share.record.lock.duration.ms": LOCK_MS}
        )
        self.cluster = self.rig.core.cluster
        self.shares = self.cluster.shares
        self.configure({"share.auto.offset.reset": "earliest", **{name.replace("__", "."): value for name, value in configs.items()}})
        self.initialize(range(partitions))

    @property
    def topic_id(self) -> bytes:
        found = self.cluster.topics.topic_id(TOPIC)
        assert found is not None
        return found

    def initialize(self, partitions: Sequence[int] | range, start: int = -1, epoch: int = 2, group: str = GROUP) -> None:
        self.rig.initialize_share(group, TOPIC, partitions, start, epoch)

    def configure(self, configs: dict[str, str], group: str = GROUP) -> None:
        self.cluster.groups.configs.own[group] = {**self.cluster.groups.configs.own.get(group, {}), **configs}

    def produce(self, *sizes: int, partition: int = 0) -> None:
        """Append batches with these numbers of records."""
        for size in sizes:
            self.rig.command("produce", topic=TOPIC, partitions=[partition], batches=encode_batch([NewRecord(value=b"v")] * size))

    def delete_records_before(self, offset: int, partition: int = 0) -> None:
        row = DeleteRecordsPartition(partition_index=partition, offset=offset)
        request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=TOPIC, partitions=[row])], timeout_ms=1000)
        answer = self.rig.ask(21, 2, request, node=self.cluster.topics.leader_of(TOPIC, partition))
        assert answer.topics[0].partitions[0].error_code == 0

    def session(self, member: str, group: str = GROUP, **how: Any) -> ShareSession:
        return ShareSession(self.rig, group, member, **how)

    def start(self, partition: int = 0) -> int:
        stored = self.shares.stored(GROUP, self.topic_id, partition)
        assert stored is not None
        return stored.start_offset

    def lag(self, partition: int = 0) -> int:
        return self.shares.lag(GROUP, self.topic_id, partition)

    def notes(self, what: str) -> list[dict[str, Any]]:
        return [note.fields for note in self.rig.of(Note) if note.what == what]
