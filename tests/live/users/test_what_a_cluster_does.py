"""Services survive events of a cluster: compaction, fetches from a replica in the rack, moved leaders and coordinators, and a new node."""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import Iterator
from random import Random
from typing import Any

import aiokafka
import confluent_kafka
import pytest

from groupmock import Broker
from groupmock.journal.rows import RequestRow
from groupmock_codec.api_keys import FETCH

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas with a function that Python 3.11 deprecates.
    import kafka

PATIENCE = 60
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
Seen = list[tuple[int, bytes | None, bytes | None]]


@pytest.fixture(params=["none", "gzip"])
def prices(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """Yield a broker with a compacted topic of 400 records, half of which are gone, including some at both ends."""
    with Broker(seed=1) as broker:
        broker.create_topic("prices", 1)
        broker.configure_topic("prices", {"cleanup.policy": "compact"})
        producer = kafka.KafkaProducer(bootstrap_servers=broker.bootstrap, compression_type=None if request.param == "none" else "gzip")
        dice = Random(1)
        for at in range(400):
            value = None if dice.random() < 0.1 else b"%d" % at
            producer.send("prices", key=b"%d" % dice.randrange(150), value=value, partition=0)
            if at % 37 == 0:
                producer.flush()
        producer.close()
        broker.compact("prices", roll=True)
        broker.produce("prices", value="the end", key="end")
        yield broker


def stored(broker: Broker) -> Seen:
    return [(each.offset, each.key, each.value) for each in broker.records("prices", 0)]


async def by_aiokafka(broker: Broker) -> Seen:
    found: Seen = []
    async with aiokafka.AIOKafkaConsumer("prices", bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest") as consumer:
        while not found or found[-1][1] != b"end":
            found += [(each.offset, each.key, each.value) for many in (await consumer.getmany(timeout_ms=1000)).values() for each in many]
    return found


def by_kafka_python(broker: Broker) -> Seen:
    found: Seen = []
    consumer = kafka.KafkaConsumer("prices", bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest", group_id=None)
    while not found or found[-1][1] != b"end":
        found += [(each.offset, each.key, each.value) for many in consumer.poll(1000).values() for each in many]
    consumer.close()
    return found


def confluent_consumer(broker: Broker, **more: Any) -> confluent_kafka.Consumer:
    servers = {"bootstrap.servers": broker.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    return confluent_kafka.Consumer(servers | {name.replace("_", "."): value for name, value in more.items()})


def by_confluent(broker: Broker) -> Seen:
    found: Seen = []
    consumer = confluent_consumer(broker)
    consumer.subscribe(["prices"])
    while not found or found[-1][1] != b"end":
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            found.append((message.offset() or 0, message.key(), message.value()))
    consumer.close()
    return found


async def test_stock_clients_read_a_compacted_log_as_it_is(prices: Broker) -> None:
    wanted = stored(prices)
    assert 100 < len(wanted) < 300 and wanted[0][0] > 0
    async with asyncio.timeout(PATIENCE):
        assert await by_aiokafka(prices) == wanted
        assert await asyncio.to_thread(by_kafka_python, prices) == wanted
        assert await asyncio.to_thread(by_confluent, prices) == wanted


def read(consumer: confluent_kafka.Consumer, count: int) -> list[bytes | None]:
    """Read this many values from the topic."""
    found: list[bytes | None] = []
    limit = time.monotonic() + PATIENCE
    while len(found) < count and time.monotonic() < limit:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            found.append(message.value())
    return found


def served_by(broker: Broker) -> list[int]:
    """Return the nodes that served records, in the order of their first fetch."""
    ring = broker._up().ring
    assert ring is not None
    return list(dict.fromkeys(row.node for row in list(ring.rows) if isinstance(row, RequestRow) and row.api_key == FETCH))


def test_a_consumer_is_served_by_its_rack_and_by_the_leader_when_that_lags() -> None:
    with Broker(nodes=3, racks=["a", "b", "c"], default_replication_factor=3, replica_selector_class=RACK_AWARE, control=0) as broker:
        broker.create_topic("t", 1)
        leader, follower = broker.topics["t"].partitions[0].replicas[:2]
        consumer = confluent_consumer(broker, client_rack="abc"[follower - 1])
        consumer.subscribe(["t"])
        broker.produce("t", value="1")
        assert read(consumer, 1) == [b"1"]
        broker.produce("t", value="2")
        assert read(consumer, 1) == [b"2"]
        assert served_by(broker) == [leader, follower], "first asked, then sent"
        broker.lag_replica("t", 0, follower)
        broker.produce("t", value="3")
        broker.stop_node(follower)
        assert read(consumer, 1) == [b"3"], "the leader has what the replica has not"
        consumer.close()


@pytest.mark.parametrize("move", ["leaders", "coordinators", "both"])
async def test_a_service_goes_on_when_everything_moves(move: str) -> None:
    with Broker(nodes=3, topics={"orders": 6}) as broker:
        found: list[bytes | None] = []
        async with asyncio.timeout(PATIENCE):
            async with aiokafka.AIOKafkaConsumer(
                "orders", bootstrap_servers=broker.bootstrap, group_id="g", auto_offset_reset="earliest", enable_auto_commit=False
            ) as consumer:
                await asyncio.to_thread(broker.wait_for, "g", "Stable", 1)
                for at in range(3):
                    for partition in range(6):
                        broker.produce("orders", value=f"{at}-{partition}", partition=partition)
                    while len(found) < 6 * (at + 1):
                        found += [each.value for many in (await consumer.getmany(timeout_ms=500)).values() for each in many]
                    await consumer.commit()
                    if move in ("leaders", "both"):
                        broker.move_leaders()
                    if move in ("coordinators", "both"):
                        broker.move_coordinators()
        assert sorted(map(str, found)) == sorted(str(f"{at}-{partition}".encode()) for at in range(3) for partition in range(6))
        assert broker.lag("g").lag == 0


async def test_a_node_that_is_added_serves_what_is_moved_there() -> None:
    with Broker(topics={"orders": 2}) as broker:
        async with asyncio.timeout(PATIENCE):
            async with aiokafka.AIOKafkaConsumer(
                "orders", bootstrap_servers=broker.bootstrap, group_id="g", auto_offset_reset="earliest", metadata_max_age_ms=500
            ) as consumer:
                added = broker.add_node()
                broker.move_leaders(to=added)
                broker.move_coordinators(to=added)
                broker.produce("orders", value="there")
                record = await consumer.getone()
                await consumer.commit()
        assert record.value == b"there"
        assert {each.leader for each in broker.topics["orders"].partitions} == {added}
