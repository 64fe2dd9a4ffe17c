"""A member that consumes, transforms and produces exactly once: `transformer.py aiokafka|aiokafka-one-id|confluent-kafka`.

It ends with status 1 as soon as it cannot go on, as a service under a supervisor does; what it says and takes is told in ../../README.md.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from member import WISH, Orders, ready, say  # type: ignore[import-not-found]  # beside it, where it runs

PATIENCE = 20.0
"""Seconds for one call of a library; whoever waits longer gives up."""
BATCH = 8


def done(partition: int, offsets: list[int]) -> None:
    """A transaction with these records is committed."""
    say("done", partition=partition, offsets=offsets)


class Aiokafka:
    """aiokafka, whose offsets in transactions do not say who the member is (TxnOffsetCommit v0).

    So each partition has a transactional id of its own, by which whoever gets the partition fences whoever had it before it looks at
    the committed offset. All errors of a transaction but of the writes that are awaited here, end the process.
    """

    def __init__(self) -> None:
        import aiokafka

        self.library = aiokafka
        self.orders = Orders()
        self.producers: dict[Any, Any] = {}
        self.lock = asyncio.Lock()
        self.consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=WISH["bootstrap"], group_id=WISH["group"], client_id=WISH["name"], auto_offset_reset="earliest",
            enable_auto_commit=False, isolation_level="read_committed", session_timeout_ms=WISH["session_ms"],
            heartbeat_interval_ms=WISH["heartbeat_ms"], fetch_max_wait_ms=200, metadata_max_age_ms=2000,
            request_timeout_ms=WISH["request_ms"])

    async def run(self) -> None:
        """Until it is told to leave."""
        from aiokafka.abc import ConsumerRebalanceListener

        outer = self

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
            async def on_partitions_revoked(self, revoked: Any) -> None:
                """The transaction under way may end; what comes after it is somebody else's."""
                async with outer.lock:
                    await outer.forget()

            async def on_partitions_assigned(self, assigned: Any) -> None:
                """Their producers are made by the loop: an error here would be swallowed."""

        self.consumer.subscribe([WISH["source"]], listener=Listener())
        await self.consumer.start()
        ready(f"aiokafka {self.library.__version__}")
        while self.orders.next() != "leave":
            async with self.lock:
                await asyncio.wait_for(self.turn(), 2 * PATIENCE)
            await asyncio.sleep(0.02)
        async with self.lock:
            await self.forget()
        await asyncio.wait_for(self.consumer.stop(), PATIENCE)
        say("left")

    async def turn(self) -> None:
        """One look at what there is, one transaction for each partition that has something."""
        for each in self.consumer.assignment() - self.producers.keys():
            await self.fence(each)
        if not self.producers:
            return
        for partition, messages in (await self.consumer.getmany(*self.producers, timeout_ms=100, max_records=BATCH)).items():
            await self.transform(partition, messages)

    async def fence(self, partition: Any) -> None:
        """Take the partition's transactional id; only then is what was committed before all there is."""
        producer = self.library.AIOKafkaProducer(
            bootstrap_servers=WISH["bootstrap"], client_id=WISH["name"], transactional_id=f"{WISH['group']}-{partition.partition}",
            transaction_timeout_ms=WISH["timeout_ms"], request_timeout_ms=WISH["request_ms"])
        await producer.start()
        self.producers[partition] = producer
        await self.rewind(partition)

    async def rewind(self, partition: Any) -> None:
        """Read on from the committed offset. (`seek_to_committed` of 0.14 does nothing where that is 0 or there is none.)"""
        self.consumer.seek(partition, await self.consumer.committed(partition) or 0)

    async def transform(self, partition: Any, messages: list[Any]) -> None:
        """One transaction. Every write is awaited: this library commits a transaction of which a write was refused."""
        producer = self.producers[partition]
        await producer.begin_transaction()
        try:
            await asyncio.gather(*[await producer.send(WISH["sink"], each.value) for each in messages])
            await producer.send_offsets_to_transaction({partition: messages[-1].offset + 1}, WISH["group"])
        except self.library.errors.KafkaError as failed:
            say("trouble", why=repr(failed))
            await producer.abort_transaction()
            return await self.rewind(partition)
        await producer.commit_transaction()
        done(partition.partition, [each.offset for each in messages])

    async def forget(self) -> None:
        """No transaction is open."""
        producers, self.producers = self.producers, {}
        for each in producers.values():
            await asyncio.wait_for(each.stop(), PATIENCE)


class OneId(Aiokafka):
    """What most people write with aiokafka: one transactional id for the member.

    A mistake, as its offsets do not say who the member is: who lost a partition without noticing commits beside the one who has it
    now (KIP-447).
    """

    def __init__(self) -> None:
        super().__init__()
        self.producer: Any = None

    async def fence(self, partition: Any) -> None:
        """Nobody is fenced."""
        if self.producer is None:
            self.producer = self.library.AIOKafkaProducer(
                bootstrap_servers=WISH["bootstrap"], client_id=WISH["name"], transactional_id=WISH["transactional_id"],
                transaction_timeout_ms=WISH["timeout_ms"], request_timeout_ms=WISH["request_ms"])
            await self.producer.start()
        self.producers[partition] = self.producer
        await self.rewind(partition)

    async def forget(self) -> None:
        """The producer goes on."""
        self.producers = {}


class Confluent:
    """confluent-kafka, which is librdkafka: one transactional id for the member, the group's metadata with the offsets (KIP-447)."""

    def __init__(self) -> None:
        import confluent_kafka

        self.library: Any = confluent_kafka
        self.orders = Orders()
        shared = {"bootstrap.servers": WISH["bootstrap"], "client.id": WISH["name"], "topic.metadata.refresh.interval.ms": 2000,
                  "socket.timeout.ms": WISH["request_ms"]}
        self.producer: Any = confluent_kafka.Producer(shared | {
            "transactional.id": WISH["transactional_id"], "transaction.timeout.ms": WISH["timeout_ms"], "linger.ms": 1})
        self.consumer: Any = confluent_kafka.Consumer(shared | {
            "group.id": WISH["group"], "auto.offset.reset": "earliest", "enable.auto.commit": False, "isolation.level": "read_committed",
            "session.timeout.ms": WISH["session_ms"], "heartbeat.interval.ms": WISH["heartbeat_ms"], "fetch.wait.max.ms": 200})

    def run(self) -> None:
        """Until it is told to leave."""
        self.repeated(self.producer.init_transactions)
        self.consumer.subscribe([WISH["source"]])
        ready(f"confluent-kafka {self.library.version()} (librdkafka {self.library.libversion()[0]})")
        while self.orders.next() != "leave":
            messages = [each for each in self.consumer.consume(BATCH, 0.1) if each.error() is None]
            if messages:
                self.transform(messages)
        self.consumer.close()
        say("left")

    def repeated(self, call: Any, *arguments: Any) -> None:
        """A call of the transactional producer; one that may be repeated is."""
        for left in range(3, -1, -1):
            try:
                return call(*arguments, PATIENCE)
            except self.library.KafkaException as failed:
                if not failed.args[0].retriable() or not left:
                    raise
                say("trouble", why=str(failed.args[0]))

    def transform(self, messages: list[Any]) -> None:
        """One transaction."""
        ends = {each.partition(): each.offset() + 1 for each in messages}
        offsets = [self.library.TopicPartition(WISH["source"], partition, offset) for partition, offset in ends.items()]
        self.producer.begin_transaction()
        try:
            for each in messages:
                self.producer.produce(WISH["sink"], each.value())
            self.repeated(self.producer.send_offsets_to_transaction, offsets, self.consumer.consumer_group_metadata())
            self.repeated(self.producer.commit_transaction)
        except self.library.KafkaException as failed:
            if not failed.args[0].txn_requires_abort():
                raise
            say("trouble", why=str(failed.args[0]))
            self.repeated(self.producer.abort_transaction)
            return self.rewind()
        for partition in ends:
            done(partition, [each.offset() for each in messages if each.partition() == partition])

    def rewind(self) -> None:
        """Read on from the committed offsets of what it still has."""
        for each in self.consumer.committed(self.consumer.assignment(), PATIENCE):
            if each.error is not None:
                raise self.library.KafkaException(each.error)
            each.offset = max(each.offset, 0)
            self.consumer.seek(each)


def main(library: str) -> None:
    """Status 1 and a sentence if it cannot go on. Nothing is closed then: as a crash would."""
    status = 0
    try:
        if library in ("aiokafka", "aiokafka-one-id"):
            asyncio.run(_aiokafka(Aiokafka if library == "aiokafka" else OneId))
        else:
            Confluent().run()
    except BaseException as failed:  # whatever it was, a supervisor starts it again
        say("failed", why=f"{type(failed).__name__}: {failed}")
        status = 1
    sys.stdout.flush()
    os._exit(status)


async def _aiokafka(kind: type[Aiokafka]) -> None:
    try:
        await kind().run()
    except BaseException as failed:  # at once: closing the rest may wait for a broker that is gone
        say("failed", why=f"{type(failed).__name__}: {failed}")
        os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
