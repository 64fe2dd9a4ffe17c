"""Members of a share group on a driver without sockets, with a journal file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rig_journal import never

from groupmock.journal.file import FileSink
from groupmock.journal.journal import Sink
from groupmock.rig import Wire, WireRig
from groupmock_codec.acknowledge_types import ACCEPT, REJECT, RELEASE, RENEW
from groupmock_codec.messages import k78_share_fetch as k78
from groupmock_codec.messages import k79_share_acknowledge as k79
from groupmock_codec.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest
from groupmock_codec.records import NewRecord, encode_batch

SETTINGS = {
    "group.share.assignment.interval.ms": 0, "group.share.session.timeout.ms": 20_000, "group.share.record.lock.duration.ms": 15_000,
}  # fmt: skip
FINAL = -1
Runs = list[tuple[int, int, int]]


def id_of(member: str) -> str:
    """Return the id of a member: its name and, as clients do, something that no other member has."""
    return f"{member}-7Q{member}"


class ShareWire:
    """One node, the topic `t` of two partitions and one share group that begins at the log's start. Each member has one connection for
    heartbeats and one for its share session, and its name as client id."""

    def __init__(self, path: Path, sinks: Iterable[Sink] = (), group: str = "g", configs: Mapping[str, str] | None = None) -> None:
        self.path, self.group = path, group
        self.rig = WireRig.make(settings=SETTINGS, topics={"t": 2}, seed=3, sinks=[FileSink(str(path), never), *sinks])
        self.wires: dict[tuple[str, str], Wire] = {}
        self.epochs: dict[str, int] = {}
        self.sessions: dict[str, int] = {}
        self.topic_id = self.rig.core.cluster.topics.topic_id("t") or b""
        self.rig.command("configure_group", group=group, set={"share.auto.offset.reset": "earliest", **(configs or {})})

    def produce(self, count: int, partition: int = 0) -> None:
        """Append one batch with so many records."""
        self.rig.command("produce", topic="t", partitions=[partition], batches=encode_batch([NewRecord(value=b"v")] * count))

    def ask(self, member: str, key: int, version: int, message: Any) -> Any:
        role = member, "beats" if key == 76 else "fetches"
        if role not in self.wires or self.wires[role].closed:
            self.wires[role] = self.rig.connect()
        return self.wires[role].ask(key, version, message, member)

    def beat(self, member: str, **fields: Any) -> tuple[int, int, list[int] | None]:
        """Send a heartbeat, and return the answer's error code, epoch and partitions of `t` (None for null)."""
        asked: dict[str, Any] = {"group_id": self.group, "member_id": id_of(member), "member_epoch": self.epochs.get(member, 0)}
        answer = self.ask(member, 76, 1, ShareGroupHeartbeatRequest(**{**asked, **fields}))
        if not answer.error_code:
            self.epochs[member] = max(answer.member_epoch, 0)
        told = answer.assignment
        parts = None if told is None else [each for topic in told.topic_partitions for each in sorted(topic.partitions)]
        return answer.error_code, answer.member_epoch, parts

    def join(self, member: str) -> tuple[int, int, list[int] | None]:
        """Join, and let the partitions be initialised that the group has not had before."""
        answer = self.beat(member, member_epoch=0, subscribed_topic_names=["t"])
        self.rig.sleep(1)
        return answer

    def leave(self, member: str) -> None:
        self.beat(member, member_epoch=FINAL, subscribed_topic_names=[])

    def fetch(self, member: str, *partitions: int, max_records: int = 500, **fields: Any) -> Runs:
        """Fetch without waiting, and return the runs that the member got: first offset, last offset, delivery count."""
        rows = [k78.FetchPartition(partition_index=each) for each in partitions]
        topics = [k78.FetchTopic(topic_id=self.topic_id, partitions=rows)] if rows else []
        limits = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": max_records, "batch_size": 500}
        asked = {"group_id": self.group, "member_id": id_of(member), "share_session_epoch": self.sessions.get(member, 0), "topics": topics}
        answer = self.ask(member, 78, 2, k78.ShareFetchRequest(**{**asked, **limits, **fields}))
        if not answer.error_code:
            self.sessions[member] = self.sessions.get(member, 0) + 1
        found = [row for topic in answer.responses for row in topic.partitions]
        return [(run.first_offset, run.last_offset, run.delivery_count) for row in found for run in row.acquired_records]

    def acknowledge(self, member: str, first: int, last: int, kinds: int | Sequence[int], partition: int = 0, **fields: Any) -> int:
        """Acknowledge records with one type, or with a type for each, and return the error code of the request or the partition."""
        types = [kinds] if isinstance(kinds, int) else list(kinds)
        batch = k78.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
        row = k79.AcknowledgePartition(partition_index=partition, acknowledgement_batches=[batch])
        topics = [k79.AcknowledgeTopic(topic_id=self.topic_id, partitions=[row])]
        asked = {"group_id": self.group, "member_id": id_of(member), "share_session_epoch": self.sessions[member], "topics": topics}
        message = k79.ShareAcknowledgeRequest(**{**asked, "is_renew_ack": RENEW in types, **fields})
        answer = self.ask(member, 79, 2, message)
        if answer.error_code:
            return int(answer.error_code)
        self.sessions[member] += 1
        return int(answer.responses[0].partitions[0].error_code)

    def close(self, member: str) -> int:
        """End the member's share session."""
        epoch = self.sessions.pop(member, 0)
        assert epoch
        message = k79.ShareAcknowledgeRequest(group_id=self.group, member_id=id_of(member), share_session_epoch=FINAL, topics=[])
        return int(self.ask(member, 79, 2, message).error_code)

    def hang_up(self, member: str) -> None:
        """Close both connections of a member, as a crash does."""
        for role in ("beats", "fetches"):
            if (member, role) in self.wires:
                self.wires.pop((member, role)).hang_up()
        self.sessions.pop(member, None)


def worked(path: Path, sinks: Iterable[Sink] = (), group: str = "g") -> Path:
    """Play two workers and write their journal: everything happens that can happen to a record.

    anna has both partitions and gets 0 to 5 of t/0 at 1 s. ben joins at 2 s and gets t/1. anna accepts 0 and 1, releases 2, rejects 3, and
    renews 4 at 10 s. The lock of 5 ends at 16 s, so that its late acceptance is refused. ben gets 2 and 5, and releases 5 until it is
    archived after three deliveries. He crashes with 2 at 30 s, and his session ends at 38 s. anna gets 2 for the third time, accepts it,
    closes her session and leaves.
    """
    world = ShareWire(path, sinks, group, {"share.delivery.count.limit": "3"})
    world.produce(6)
    world.join("anna")
    world.rig.sleep(999)
    world.beat("anna")
    world.fetch("anna", 0, 1)
    world.rig.sleep(1_000)
    world.join("ben")
    world.beat("anna")
    world.rig.sleep(3_000)
    world.acknowledge("anna", 0, 1, ACCEPT)
    world.rig.sleep(1_000)
    world.acknowledge("anna", 2, 3, [RELEASE, REJECT])
    world.rig.sleep(4_000)
    world.acknowledge("anna", 4, 4, RENEW)
    world.beat("anna")
    world.beat("ben")
    world.rig.sleep(6_000)
    world.acknowledge("anna", 4, 4, ACCEPT)
    world.fetch("ben", 0)
    world.acknowledge("anna", 5, 5, ACCEPT)
    world.rig.sleep(2_000)
    world.acknowledge("ben", 5, 5, RELEASE)
    world.beat("anna")
    world.beat("ben")
    world.rig.sleep(2_000)
    world.fetch("ben")
    world.acknowledge("ben", 5, 5, RELEASE)
    world.rig.sleep(10_000)
    world.hang_up("ben")
    world.beat("anna")
    world.rig.sleep(12_000)
    world.beat("anna")
    world.fetch("anna")
    world.rig.sleep(1_000)
    world.acknowledge("anna", 2, 2, ACCEPT)
    world.close("anna")
    world.leave("anna")
    world.rig.close()
    return path
