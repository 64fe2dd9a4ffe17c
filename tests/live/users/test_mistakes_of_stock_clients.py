"""Stock clients make the mistakes of docs/how-to/read-the-story.md and of public reports, and the story names the likely cause of each. It
names none for clients that make no mistake."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import aiokafka
import confluent_kafka
import pytest
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from groupmock import Broker

PATIENCE_S = 20
LONGEST = 160
CHILD = """
import kafka, sys
consumer = kafka.KafkaConsumer("orders", bootstrap_servers=sys.argv[1], group_id="kitchen", client_id="ben", session_timeout_ms=6000)
while True:
    consumer.poll(timeout_ms=100)
"""
"""A process that reads until it is killed."""


async def until(broker: Broker, told: str) -> None:
    """Wait until the story has a text that matches. A test whose text never comes shows the story."""
    end = time.monotonic() + PATIENCE_S
    while not re.search(told, story := broker.story(), re.DOTALL):
        assert time.monotonic() < end, story
        await asyncio.sleep(0.1)


def consumer(broker: Broker, name: str, *topics: str, **how: object) -> Any:
    settings = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 100, "enable_auto_commit": False, "auto_offset_reset": "earliest"}
    return aiokafka.AIOKafkaConsumer(
        *(topics or ("orders",)), bootstrap_servers=broker.bootstrap, group_id="kitchen", client_id=name, **settings | how
    )


async def commit_after_revoke(broker: Broker) -> None:
    """Let the member expire while its worker is busy, and commit with the generation that the group has left behind."""
    anna = consumer(broker, "anna", heartbeat_interval_ms=3000)
    await anna.start()
    record = await anna.getone()
    broker.expire("kitchen", "anna")
    with pytest.raises(aiokafka.errors.KafkaError):
        await anna.commit({aiokafka.TopicPartition("orders", record.partition): record.offset + 1})
    await anna.stop()


async def no_commit(broker: Broker) -> None:
    for _ in range(2):
        anna = consumer(broker, "anna")
        await anna.start()
        await anna.getone()
        await anna.stop()


async def reset_to_latest(broker: Broker) -> None:
    anna = consumer(broker, "anna", auto_offset_reset="latest")
    await anna.start()
    for partition in range(4):
        assert await anna.position(aiokafka.TopicPartition("orders", partition)) == 3
    await anna.getmany(timeout_ms=1000)
    await anna.stop()


async def static_id_twice(broker: Broker) -> None:
    one = consumer(broker, "pod-1", group_instance_id="kitchen-0")
    other = consumer(broker, "pod-2", group_instance_id="kitchen-0")
    await one.start()
    await other.start()
    with pytest.raises(aiokafka.errors.KafkaError):
        await one.commit({aiokafka.TopicPartition("orders", 0): 1})
    await other.stop()
    await one.stop()


async def commits_in_the_wrong_order(broker: Broker) -> None:
    anna = consumer(broker, "anna")
    await anna.start()
    for offset in (3, 1):
        await anna.commit({aiokafka.TopicPartition("orders", 2): offset})
    await anna.stop()


async def poll_too_slow(broker: Broker) -> None:
    anna = consumer(broker, "anna", max_poll_interval_ms=500)
    await anna.start()
    await anna.getone()
    await until(broker, "anna.* is gone: it left")
    await anna.getone()
    await until(broker, "generation 3")
    await anna.stop()


async def two_services_one_group(broker: Broker) -> None:
    broker.create_topic("bills", 2)
    shipping, billing = consumer(broker, "shipping"), consumer(broker, "billing", "bills")
    await shipping.start()
    await billing.start()
    await until(broker, "Likely: two services")
    for each in (shipping, billing):
        await each.stop()


async def assignor_mix(broker: Broker) -> None:
    old = consumer(broker, "old", partition_assignment_strategy=[RangePartitionAssignor])
    new = consumer(broker, "new", partition_assignment_strategy=[RoundRobinPartitionAssignor])
    await old.start()
    with contextlib.suppress(aiokafka.errors.KafkaError, asyncio.TimeoutError):
        await asyncio.wait_for(new.start(), 3)
    await new.stop()
    await old.stop()


async def unknown_topic(broker: Broker) -> None:
    anna = confluent_kafka.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "kitchen", "client.id": "anna"})
    anna.subscribe(["order"])
    anna.poll(2)
    await until(broker, "Likely: ")
    anna.close()


async def close_without_leave(broker: Broker) -> None:
    anna = consumer(broker, "anna")
    await anna.start()
    ben = await asyncio.create_subprocess_exec(sys.executable, "-c", CHILD, broker.bootstrap)
    await until(broker, "ben#.... gets")
    ben.kill()
    await ben.wait()
    await until(broker, "Likely: ")
    await anna.stop()


async def handed_over_in_work(broker: Broker) -> None:
    anna, ben = consumer(broker, "anna"), consumer(broker, "ben")
    await anna.start()
    await anna.commit({aiokafka.TopicPartition("orders", 0): 0})
    for _ in range(12):
        await anna.getone()
    await until(broker, "anna#.... begins to read at orders/0-3 = 0")
    await asyncio.sleep(1)  # The client asks for the records behind those that were taken.
    await ben.start()
    await until(broker, "ben#.... begins to read")
    for each in (anna, ben):
        await each.stop()


async def open_transaction(broker: Broker) -> None:
    till = aiokafka.AIOKafkaProducer(bootstrap_servers=broker.bootstrap, client_id="till", transactional_id="till")
    anna = consumer(broker, "anna", isolation_level="read_committed")
    await till.start()
    await till.begin_transaction()
    await till.send_and_wait("orders", b"x", partition=0)
    await anna.start()
    while await anna.getmany(timeout_ms=500):
        pass
    await until(broker, "Likely: ")
    await anna.stop()
    await till.abort_transaction()
    await till.stop()


class Pauses(aiokafka.ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """Pauses orders/3 as soon as it is assigned."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def on_partitions_revoked(self, revoked: Any) -> None:
        pass

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._reader.pause(aiokafka.TopicPartition("orders", 3))


async def never_fetched(broker: Broker) -> None:
    anna = aiokafka.AIOKafkaConsumer(
        bootstrap_servers=broker.bootstrap, group_id="kitchen", client_id="anna", auto_offset_reset="earliest", fetch_max_wait_ms=100
    )
    anna.subscribe(["orders"], listener=Pauses(anna))
    await anna.start()
    end = time.monotonic() + PATIENCE_S
    while "Likely: " not in broker.story() and time.monotonic() < end:
        await anna.getmany(timeout_ms=200)
    await anna.stop()


async def start_offset_refused(broker: Broker) -> None:
    """Answer OffsetFetch with an error for the whole request, which librdkafka does not repeat (librdkafka issue 5586)."""
    with broker.fault({"api": "OffsetFetch"}, {"kind": "error", "code": "NOT_COORDINATOR"}):
        anna = confluent_kafka.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "kitchen", "client.id": "anna"})
        anna.subscribe(["orders"])
        end = time.monotonic() + PATIENCE_S
        while "Likely: " not in broker.story() and time.monotonic() < end:
            anna.poll(0.2)
        anna.close()


async def blocked(broker: Broker) -> None:
    anna = consumer(broker, "anna", session_timeout_ms=1000)
    await anna.start()
    time.sleep(3)  # noqa: ASYNC251  # A blocking call in the thread of the event loop keeps heartbeats back: that is the mistake.
    await anna.stop()


LIKELY = [
    (commit_after_revoke, r"anna#\w{4} committed orders/\d = 1 at [\d.]+, but it was no member since [\d.]+: its session expired"),
    (no_commit, r"nobody commits: anna#\w{4} was sent records of orders/0-3 at [\d.]+, and anna#\w{4} began at the same offsets at"),
    (poll_too_slow, r"anna#\w{4} polled too slowly \(max.poll.interval.ms\): it left at [\d.]+, kept its connection and joined again at"),
    (two_services_one_group, r"two services share this group.id: shipping#\w{4} subscribes to orders, billing#\w{4} \(since .*\) to bills"),
    (assignor_mix, r"new .*could not join at [\d.]+ \(it offers roundrobin; all others have range\)"),
    (unknown_topic, r"client anna asks for topic order, which does not exist \(Metadata until [\d.]+\): did you mean orders\?"),
    (reset_to_latest, r"anna#\w{4} began at the end of orders/0-3 at [\d.]+ and skipped up to 12 records"),
    (static_id_twice, r"pod-1 and pod-2 both use group.instance.id kitchen-0: pod-2 took its place at [\d.]+"),
    (commits_in_the_wrong_order, r"anna#\w{4} committed orders/2 = 1 at [\d.]+ after 3 at"),
    (close_without_leave, r"ben#\w{4}'s connection ended at [\d.]+ without LeaveGroup: nobody reads orders/.* until its session"),
    (handed_over_in_work, r"orders/\d went to ben#\w{4} at [\d.]+ while anna#\w{4} worked on offset 0 to 2, not committed"),
    (open_transaction, r"anna#\w{4} \(read_committed\) waits at orders/0 = 3 since [\d.]+ behind an open transaction: till \(Ongoing"),
    (never_fetched, r"anna#\w{4} has orders/3 since [\d.]+ and has never fetched it, but \d+ times other partitions"),
    (start_offset_refused, r"anna#\w{4} has orders/0-3 since [\d.]+ and has never fetched it: its OffsetFetch was refused"),
    (blocked, r"anna#\w{4} sent no heartbeat and its session \(1000 ms\) expired at [\d.]+, but its connection was open"),
]  # fmt: skip
"""The likely cause of each mistake, which the story must name."""


@pytest.fixture
def kitchen() -> Iterator[Broker]:
    settings = {"group_initial_rebalance_delay_ms": 0, "group_min_session_timeout_ms": 500, "auto_create_topics_enable": False}
    with Broker(topics={"orders": 4}, **settings) as broker:  # type: ignore[arg-type]
        for partition in range(4):
            for _ in range(3):
                broker.produce("orders", b"x", partition=partition)
        yield broker


@pytest.mark.parametrize(("mistake", "likely"), LIKELY, ids=lambda value: getattr(value, "__name__", ""))
async def test_story_names_the_likely_cause(mistake: Callable[[Broker], Any], likely: str, kitchen: Broker) -> None:
    await mistake(kitchen)
    story = kitchen.story()
    assert re.search(f"Likely: {likely}", story), story
    assert all(len(line.strip()) <= LONGEST for line in story.splitlines() if "Likely: " in line)


async def test_story_names_an_advertised_address_that_cannot_be_reached() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with Broker(topics={"orders": 1}, port=port, advertise="127.0.0.1:1") as broker:
        anna = aiokafka.AIOKafkaConsumer("orders", bootstrap_servers=f"127.0.0.1:{port}", group_id="kitchen", client_id="anna")
        with contextlib.suppress(aiokafka.errors.KafkaError, asyncio.TimeoutError):
            await asyncio.wait_for(anna.start(), 3)
        await anna.stop()
        await until(broker, r"Likely: client anna cannot reach 127.0.0.1:1, which it was told until [\d.]+: it asked nothing else")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_story_names_no_cause_for_stock_clients_in_good_order(protocol: str, kitchen: Broker) -> None:
    own = {"group.protocol": "consumer"} if protocol == "consumer" else {"group.protocol": "classic", "session.timeout.ms": 6000}
    how = {"bootstrap.servers": kitchen.bootstrap, "group.id": "kitchen", "auto.offset.reset": "earliest", **own}
    members = [confluent_kafka.Consumer({**how, "client.id": name}) for name in ("anna", "ben")]
    taken, end = 0, time.monotonic() + PATIENCE_S
    for place, member in enumerate(members):
        member.subscribe(["orders"])
        while time.monotonic() < end and (taken < 12 or len(members[place].assignment()) != 4 // (place + 1)):
            for each in members[: place + 1]:
                taken += each.poll(0.1) is not None
    for member in members:
        member.close()
    assert taken == 12
    assert "Likely: " not in kitchen.story()


TOLD = [
    (commit_after_revoke, r"anna.* is gone: its session expired, ordered by expire_member.*commit of orders/\d = 1 REFUSED"),
    (no_commit, r"nothing committed\n.*finds committed: nothing for .*finds committed: nothing for "),
    (reset_to_latest, r"finds committed: nothing for .*asks where the log ends: orders/0-3 = 3"),
    (static_id_twice, r"\(client pod-2\) takes the place of kitchen-0#\w{4}: static id kitchen-0.*commit of orders/0 = 1 REFUSED: "),
    (commits_in_the_wrong_order, r"commits orders/2 = 3\n.*commits orders/2 = 1: BACK from 3"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "told"), TOLD, ids=lambda value: getattr(value, "__name__", ""))
async def test_the_story_names_the_cause(mistake: Callable[[Broker], Any], told: str, kitchen: Broker) -> None:
    await mistake(kitchen)
    story = kitchen.story("kitchen")
    assert re.search(told, story, re.DOTALL), story
