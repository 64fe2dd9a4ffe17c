"""Records of share groups over HTTP: who has them, waits for none in flight, for a delivery count and for no lag, and the commands that
end locks and archive records."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from groupmock.rig.wire import AsyncClient, request
from groupmock_codec import APIS
from groupmock_codec.messages import k78_share_fetch as k78
from groupmock_codec.messages import k79_share_acknowledge as k79

MEMBER = "anna-1"


class Worker:
    """A member of the share group kitchen that has all of orders/0, on a connection of its own."""

    def __init__(self, api: Any, wire: AsyncClient) -> None:
        self.api, self.wire, self.epoch = api, wire, 0
        self.topic_id = api.control.running.cluster.topics.topic_id("orders")

    async def ask(self, key: int, version: int, **fields: Any) -> Any:
        make: Any = APIS[key].request.message
        message = make(group_id="kitchen", member_id=MEMBER, **fields)
        self.wire.write(request(key, version, message, client_id="anna"))
        return APIS[key].response.decode(version, (await self.wire.receive())[5:])

    async def take(self) -> list[tuple[int, int, int]]:
        """Fetch once, and return the runs of records: first offset, last offset, delivery count."""
        topic = k78.FetchTopic(topic_id=self.topic_id, partitions=[k78.FetchPartition(partition_index=0)])
        limits = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 100, "batch_size": 100}
        answer = await self.ask(78, 2, share_session_epoch=self.epoch, topics=[topic], **limits)
        self.epoch += 1
        rows = [row for topic in answer.responses for row in topic.partitions]
        return [(run.first_offset, run.last_offset, run.delivery_count) for row in rows for run in row.acquired_records]

    async def acknowledge(self, first: int, last: int, kind: int) -> int:
        batch = k78.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=[kind])
        partition = k79.AcknowledgePartition(partition_index=0, acknowledgement_batches=[batch])
        topic = k79.AcknowledgeTopic(topic_id=self.topic_id, partitions=[partition])
        answer = await self.ask(79, 2, share_session_epoch=self.epoch, topics=[topic])
        self.epoch += 1
        return int(answer.responses[0].partitions[0].error_code)


@pytest.fixture
async def worker(api: Any) -> Worker:
    """Return a member that has its partition, of a group that begins at the start of a log with three records."""
    for value in "abc":
        await api.post("/v1/topics/orders/records", value=value, partition=0)
    await api.post("/v1/groups/kitchen/configs", set={"share.auto.offset.reset": "earliest", "share.delivery.count.limit": "2"})
    running = api.control.running
    coordinator = running.cluster.groups.hosting.node_of("kitchen")
    wire = AsyncClient(*await asyncio.open_connection("127.0.0.1", running.ports[coordinator - 1]))
    leader = running.cluster.topics.leader_of("orders", 0)
    at_leader = AsyncClient(*await asyncio.open_connection("127.0.0.1", running.ports[leader - 1]))
    api.wires += [wire, at_leader]
    member = Worker(api, wire)
    await member.ask(76, 1, member_epoch=0, subscribed_topic_names=["orders"])
    await api.get("/v1/journal/wait", kind="note", what="share_initialized")
    member.wire = at_leader
    return member


async def test_records_in_flight_and_their_waits_are_read_over_http(api: Any, worker: Worker) -> None:
    await api.get("/v1/groups/kitchen/wait", acquired=0)
    assert await worker.take() == [(0, 2, 1)]
    status, answer = await api.ask("GET", "/v1/groups/kitchen/wait?acquired=0&deliveries=2&lag=0&timeout=0")
    assert status == 408
    for missing in ("acquired 0 or less: it is 3 (orders/0 3)", "the most are 1 (record 0 of orders/0)", "lag 0 or less: it is unknown"):
        assert missing in answer["error"]
    (row,) = await api.get("/v1/groups/kitchen/in-flight")
    assert (row["topic"], row["partition"], row["start"], row["end"], row["acquired"], row["lag"]) == ("orders", 0, 0, 3, 3, -1)
    (records,) = row["records"]
    assert (records["first"], records["last"], records["state"]) == (0, 2, "acquired")
    assert (records["deliveries"], records["member_id"]) == (1, MEMBER)


async def test_waits_end_when_the_locks_do(api: Any, worker: Worker) -> None:
    assert await worker.take() == [(0, 2, 1)]
    waiting = asyncio.ensure_future(api.get("/v1/groups/kitchen/wait", acquired=0, timeout=60))
    await api.post("/v1/clock/step", ms=30_000)
    await waiting
    assert await worker.take() == [(0, 2, 2)]
    await api.get("/v1/groups/kitchen/wait", deliveries=2)
    await api.post("/v1/groups/kitchen/locks/expire", first=0, last=0)
    (row,) = await api.get("/v1/groups/kitchen/in-flight")
    assert (row["start"], row["lag"], row["acquired"]) == (1, 2, 2), "record 0 is archived after its last delivery"


async def test_the_lag_of_a_share_group_leaves_out_what_is_done(api: Any, worker: Worker) -> None:
    assert await worker.take() == [(0, 2, 1)]
    assert await worker.acknowledge(1, 2, 1) == 0
    (partition,) = [each for each in (await api.get("/v1/groups/kitchen/lag"))["partitions"] if each["partition"] == 0]
    assert (partition["committed"], partition["end_offset"], partition["lag"]) == (0, 3, 1)
    waiting = asyncio.ensure_future(api.get("/v1/groups/kitchen/wait", lag=0, acquired=0, timeout=60))
    assert await worker.acknowledge(0, 0, 3) == 0
    await waiting
    story = await api.get("/v1/groups/kitchen")
    assert "lag 0" in story["story"][0]


async def test_archived_and_released_records_over_http(api: Any, worker: Worker) -> None:
    assert await worker.take() == [(0, 2, 1)]
    await api.post("/v1/groups/kitchen/records/archive", topic="orders", partition=0, first=1, last=1)
    await api.post("/v1/groups/kitchen/records/release", member=MEMBER)
    await api.post("/v1/groups/kitchen/deliveries/hold")
    assert await worker.take() == []
    await api.post("/v1/groups/kitchen/deliveries/resume")
    assert await worker.take() == [(0, 0, 2), (2, 2, 2)]
    status, answer = await api.ask("POST", "/v1/groups/nobody/locks/expire", {})
    assert (status, answer["error"]) == (404, "no member of share group 'nobody' fetches: there are kitchen")
