"""Lets all members of a share group have records in flight at once, and reports the longest pause of the server's event loop in each phase.

    python -m benchmarks.workers.share_crowd HOST PORT PID TOPIC PARTITIONS MEMBERS LOCK_MS

Each member has a share session on a connection of its own, and a fetch that waits. Then 100 records for each member are produced, every
lock ends, all records are delivered again and acknowledged one by one, and all connections close. The JSON line has the longest pause (ms)
of each phase.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from groupmock.rig.wire import Client, read_response, request
from groupmock_codec.acknowledge_types import ACCEPT, RELEASE
from groupmock_codec.messages import k00_produce as k00
from groupmock_codec.messages import k78_share_fetch as k78
from groupmock_codec.messages import k79_share_acknowledge as k79
from groupmock_codec.records import NewRecord, encode_batch

from ..consumer_group import ShareGroup
from ..phases import Watch

GROUP = "bench"
BATCH = 100
PATIENCE_S = 60.0
VERSION = 2


class Worker:
    """The share session of one member, on a connection of its own."""

    def __init__(self, endpoint: tuple[str, int], member_id: str, owned: list[tuple[bytes, list[int]]]) -> None:
        self.client, self.member_id, self.owned, self.epoch = Client(*endpoint), member_id, owned, 0
        self.held: list[tuple[bytes, int, int, int]] = []

    def fetches(self, max_wait_ms: int = 30_000) -> None:
        topics = [] if self.epoch else [
            k78.FetchTopic(topic_id=topic, partitions=[k78.FetchPartition(partition_index=index) for index in indexes])
            for topic, indexes in self.owned
        ]  # fmt: skip
        message = k78.ShareFetchRequest(
            group_id=GROUP, member_id=self.member_id, share_session_epoch=self.epoch, max_wait_ms=max_wait_ms, min_bytes=1,
            max_bytes=1 << 20, max_records=BATCH, batch_size=BATCH, topics=topics,
        )  # fmt: skip
        self.epoch += 1
        self.client.write(request(78, VERSION, message))

    def hears(self) -> None:
        answer: Any = read_response(78, VERSION, self.client.receive())[1]
        assert not answer.error_code, answer
        self.held = [
            (topic.topic_id, row.partition_index, run.first_offset, run.last_offset)
            for topic in answer.responses
            for row in topic.partitions
            for run in row.acquired_records
        ]

    def acknowledges(self) -> None:
        """Accept every second record, and release the others."""
        topics = []
        for topic, index, first, last in self.held:
            types = [ACCEPT if offset % 2 else RELEASE for offset in range(first, last + 1)]
            batch = k78.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
            row = k79.AcknowledgePartition(partition_index=index, acknowledgement_batches=[batch])
            topics.append(k79.AcknowledgeTopic(topic_id=topic, partitions=[row]))
        message = k79.ShareAcknowledgeRequest(group_id=GROUP, member_id=self.member_id, share_session_epoch=self.epoch, topics=topics)
        self.epoch += 1
        self.client.write(request(79, VERSION, message))

    def answered(self) -> None:
        answer: Any = read_response(79, VERSION, self.client.receive())[1]
        assert not answer.error_code, answer


def main() -> None:
    host, port, pid, topic, *numbers = sys.argv[1:]
    endpoint, server, (partitions, members, lock_ms) = (host, int(port)), int(pid), map(int, numbers)
    group = ShareGroup(endpoint, GROUP, topic, members)
    group.settle(max(members, partitions), PATIENCE_S)
    workers = [Worker(endpoint, each.id, each.owned) for each in group.members]
    watch = Watch(endpoint, server)
    for worker in workers:
        worker.fetches(0)
        worker.hears()
    with watch.phase("waiting"):
        for worker in workers:
            worker.fetches()
    producer = Client(*endpoint)
    batch = encode_batch([NewRecord(value=b"v")] * BATCH)
    with watch.phase("delivered"):
        for number in range(members):
            data = k00.PartitionProduceData(index=number % partitions, records=batch)
            named = k00.TopicProduceData(name=topic, partition_data=[data])
            producer.ask(0, 9, k00.ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[named]))
        for worker in workers:
            worker.hears()
    got = sum(last - first + 1 for worker in workers for _, _, first, last in worker.held)
    assert got == members * BATCH, f"{got} records are in flight"
    with watch.phase("locks_end"):
        time.sleep(lock_ms / 1000)
    with watch.phase("again"):
        for worker in workers:
            worker.fetches()
        for worker in workers:
            worker.hears()
    with watch.phase("acknowledged"):
        for worker in workers:
            worker.acknowledges()
        for worker in workers:
            worker.answered()
    with watch.phase("closed"):
        for worker in workers:
            worker.client.socket.close()
    print(json.dumps(watch.pauses))


if __name__ == "__main__":
    main()
