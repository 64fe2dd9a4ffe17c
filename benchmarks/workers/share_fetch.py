"""Fetches records as a member of a share group, and reports what the server needed for it.

    python -m benchmarks.workers.share_fetch HOST PORT PID TOPIC PARTITIONS RECORDS FETCHES

The JSON line has the server's CPU microseconds of an empty Fetch and of an empty ShareFetch, both in a session, and its bytes for each
record in flight: in batches of 100 as they were fetched, and after every second one was accepted and the others were released. RECORDS are
those of each partition.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from groupmock.rig.wire import Client, read_response, request
from groupmock_codec import APIS
from groupmock_codec.acknowledge_types import ACCEPT, RELEASE
from groupmock_codec.api_keys import FETCH, SHARE_FETCH
from groupmock_codec.messages import k00_produce as k00
from groupmock_codec.messages import k01_fetch as k01
from groupmock_codec.messages import k78_share_fetch as k78
from groupmock_codec.messages import k79_share_acknowledge as k79
from groupmock_codec.records import NewRecord, encode_batch

from ..machine import cpu_seconds, resident_bytes

GROUP, MEMBER = "bench", "member"
BATCH = 100
WHO = {"group_id": GROUP, "member_id": MEMBER}
LIMITS = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 28, "max_records": 1_000_000, "batch_size": 1_000_000}
WARM = 500


def message(key: int, **fields: Any) -> Any:
    return APIS[key].request.message(**fields)


def beaten(client: Client, topic: str) -> None:
    """Join, and wait until the partitions are initialized."""
    epoch = client.ask(76, 1, message(76, **WHO, member_epoch=0, subscribed_topic_names=[topic])).member_epoch
    while True:
        answer = client.ask(76, 1, message(76, **WHO, member_epoch=epoch))
        epoch = answer.member_epoch
        if answer.assignment is not None and answer.assignment.topic_partitions:
            return
        time.sleep(0.05)  # The next heartbeat shows whether the coordinator has done it, because nothing is pushed to a member.


class Repeated:
    """A request that is sent again and again with another session epoch. Its place in the frame is found by comparing two frames."""

    def __init__(self, client: Client, key: int, version: int, first: int, **fields: Any) -> None:
        name = "session_epoch" if key == FETCH else "share_session_epoch"
        one, other = (request(key, version, message(key, **fields, **{name: epoch})) for epoch in (1, 0x02020202))
        places = [place for place, (left, right) in enumerate(zip(one, other, strict=True)) if left != right]
        self.client, self.frame, self.epoch, self.at = client, bytearray(one), first, places[-1] - 3
        answer: Any = read_response(key, version, self.ask())[1]
        assert not answer.error_code, answer
        self.size = len(self.ask())

    def ask(self) -> bytes:
        self.frame[self.at : self.at + 4] = self.epoch.to_bytes(4, "big")
        self.epoch += 1
        self.client.write(bytes(self.frame))
        return self.client.receive()


def cost(pid: int, repeated: Repeated, count: int) -> float:
    """Return the server's CPU microseconds of a request. Every answer must have the size of an empty one."""
    for _ in range(WARM):
        assert len(repeated.ask()) == repeated.size
    before = cpu_seconds(pid)
    for _ in range(count):
        assert len(repeated.ask()) == repeated.size
    return (cpu_seconds(pid) - before) * 1e6 / count


def main() -> None:
    host, port, pid, topic, *numbers = sys.argv[1:]
    server, (partitions, records, fetches) = int(pid), map(int, numbers)
    client = Client(host, int(port))
    beaten(client, topic)
    metadata = client.ask(3, 12, message(3, topics=None))
    topic_id = next(each.topic_id for each in metadata.topics if each.name == topic)
    places = [k78.FetchPartition(partition_index=index) for index in range(partitions)]
    wanted = [k78.FetchTopic(topic_id=topic_id, partitions=places)]
    opened = client.ask(78, 2, message(78, **WHO, **LIMITS, share_session_epoch=0, topics=wanted))
    assert not opened.error_code
    of_fetch = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 28}
    rows = [k01.FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20) for index in range(partitions)]
    first = client.ask(1, 12, message(1, **of_fetch, session_epoch=0, topics=[k01.FetchTopic(topic=topic, partitions=rows)]))
    assert first.session_id
    fetch = Repeated(client, FETCH, 12, 1, **of_fetch, session_id=first.session_id)
    share = Repeated(client, SHARE_FETCH, 2, 1, **WHO, **LIMITS)
    told = {"fetch_us": cost(server, fetch, fetches), "share_us": cost(server, share, fetches)}

    for index in range(partitions):
        for _ in range(records // BATCH):
            batch = encode_batch([NewRecord(value=b"v")] * BATCH)
            data = k00.PartitionProduceData(index=index, records=batch)
            client.ask(0, 9, message(0, acks=-1, topic_data=[k00.TopicProduceData(name=topic, partition_data=[data])]))
    before = resident_bytes(server)
    got = 0
    while got < partitions * records:
        answer = client.ask(78, 2, message(78, **WHO, **LIMITS, share_session_epoch=share.epoch))
        share.epoch += 1
        assert not answer.error_code, answer
        runs = [run for each in answer.responses for row in each.partitions for run in row.acquired_records]
        assert runs, f"{got} of {partitions * records} records were acquired"
        got += sum(run.last_offset - run.first_offset + 1 for run in runs)
    told["batches_bytes"] = (resident_bytes(server) - before) / got
    types = [ACCEPT, RELEASE] * (records // 2)
    for index in range(partitions):
        done = k78.AcknowledgementBatch(first_offset=0, last_offset=records - 1, acknowledge_types=types)
        row = k79.AcknowledgePartition(partition_index=index, acknowledgement_batches=[done])
        topics = [k79.AcknowledgeTopic(topic_id=topic_id, partitions=[row])]
        answer = client.ask(79, 2, message(79, **WHO, share_session_epoch=share.epoch, topics=topics))
        share.epoch += 1
        assert not answer.error_code and not answer.responses[0].partitions[0].error_code, answer
    told["apart_bytes"] = (resident_bytes(server) - before) / got
    print(json.dumps(told))


if __name__ == "__main__":
    main()
