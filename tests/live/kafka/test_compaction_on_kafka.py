"""A run of the log cleaner leaves the same batches on real Apache Kafka and on groupmock, for random logs. It needs java and the shared
folder.

A topic has a log per partition. Each is written in two parts. After each part the broker's log cleaner runs, and between the two the time
of the tombstones ends. Meanwhile min.cleanable.dirty.ratio keeps the cleaner away: nothing is dirtier than 1. On our side the same batches
are appended and `compact_topic` is called.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from log_world import LogWorld
from waiting import until

from groupmock.config.profiles import load
from groupmock.core.settings import Quirks
from groupmock.rig.wire import Client
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k44_incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest
from groupmock_codec.records import Batch, NewRecord, decode_records, encode_batch, read_batches
from tools.fidelity.generated.settings_classes import BROKERS
from tools.oracle import kafka

TOPIC = "compacted"
LOGS = 12
TOMBSTONES_MS = 1500
SEGMENT_MS = 60_000
CONFIGS = {
    "cleanup.policy": "compact",
    "segment.ms": str(SEGMENT_MS),
    "delete.retention.ms": str(TOMBSTONES_MS),
    "min.cleanable.dirty.ratio": "1.0",
}
Log = list[bytes]


def drawn(dice: Random, producer_ids: list[int], sequences: dict[int, int], stamp: int, batches: int) -> Log:
    """Draw batches of a few keys with tombstones, compressed batches and idempotent producers. The last one lies in a segment of its
    own."""
    log, keys = [], [b"a", b"b", b"c", b"d"]
    for _ in range(batches):
        stamp += dice.choice([1, 10, SEGMENT_MS * 2]) if dice.random() < 0.3 else 1
        count = dice.choice([1, 1, 2, 4])
        values = [dice.choice([None, b"v", b"w"]) for _ in range(count)]
        records = [NewRecord(key=dice.choice(keys), value=value, timestamp=stamp + at) for at, value in enumerate(values)]
        how: dict[str, Any] = {"compression": dice.choice(["none", "none", "gzip"])}
        if dice.random() < 0.5:
            producer = dice.choice(producer_ids)
            how |= {"producer_id": producer, "producer_epoch": 0, "base_sequence": sequences.get(producer, 0)}
            sequences[producer] = sequences.get(producer, 0) + count
        log.append(encode_batch(records, **how))
    stamp += SEGMENT_MS * 3
    return [*log, encode_batch([NewRecord(key=dice.choice([b"a", b"z"]), value=b"last", timestamp=stamp)])]


def shown(batches: list[Batch]) -> list[dict[str, Any]]:
    """Return the contents of batches without times; of a delete horizon only the presence counts."""
    return [
        {
            "offsets": (batch.base_offset, batch.last_offset),
            "attributes": batch.attributes,
            "producer": (batch.producer_id, batch.producer_epoch, batch.base_sequence),
            "base_timestamp": "horizon" if batch.delete_horizon_ms is not None else batch.base_timestamp,
            "max_timestamp": batch.max_timestamp,
            "records": [(each.offset, each.timestamp, each.key, each.value) for each in decode_records(batch)],
            "crc": batch.crc_holds,
        }
        for batch in batches
    ]


class Kafka:
    """The part of the comparison that runs on Apache Kafka."""

    def __init__(self, client: Client) -> None:
        self.client = client
        configs = [CreatableTopicConfig(name=name, value=value) for name, value in CONFIGS.items()]
        topic = CreatableTopic(name=TOPIC, num_partitions=LOGS, replication_factor=1, configs=configs)
        made = self.client.ask(19, 5, CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
        assert made.topics[0].error_code == 0, made
        until("the logs are there", lambda: all(self.batches(index) == [] for index in range(LOGS)), str)

    def producer_id(self) -> int:
        """Return a fresh producer id. A new broker answers COORDINATOR_LOAD_IN_PROGRESS (14) until its controller has assigned some."""
        found: list[int] = []

        def ask() -> bool:
            answer = self.client.ask(22, 2, InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000))
            found.append(answer.producer_id)
            return bool(answer.error_code == 0)

        until("a producer id", ask, lambda: found)
        return found[-1]

    def append(self, index: int, log: Log) -> None:
        """Append a log with one Produce per batch."""
        for batch in log:
            data = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=index, records=batch)])
            answer = self.client.ask(0, 9, ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[data]))
            row = answer.responses[0].partition_responses[0]
            assert row.error_code == 0, (index, row)

    def batches(self, index: int) -> list[Batch]:
        """Return all batches of a log. A fetch ends where a segment ends."""
        found: list[Batch] = []
        while True:
            offset = found[-1].next_offset if found else 0
            wanted = FetchTopic(topic=TOPIC, partitions=[FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)])
            answer = self.client.ask(1, 11, FetchRequest(max_wait_ms=0, max_bytes=1 << 24, topics=[wanted]))
            more = read_batches(answer.responses[0].partitions[0].records or b"")
            if not more:
                return found
            found += more

    def clean(self, differing: Callable[[], list[str]]) -> None:
        """Let Kafka's log cleaner run until its logs equal groupmock's, and then keep the cleaner away again."""
        self._ratio("0.0")
        until("the logs to be compacted as ours are", lambda: not differing(), lambda: "\n".join(differing()), 30)
        self._ratio("1.0")

    def _ratio(self, value: str) -> None:
        change = AlterableConfig(name="min.cleanable.dirty.ratio", config_operation=0, value=value)
        resource = AlterConfigsResource(resource_type=2, resource_name=TOPIC, configs=[change])
        answer = self.client.ask(44, 1, IncrementalAlterConfigsRequest(resources=[resource]))
        assert answer.responses[0].error_code == 0, answer


def compare(kafka: Kafka, release: str, seed: int) -> None:
    """Fail with the logs that differ."""
    dice, profile = Random(seed), load(f"kafka-{release}")
    world = LogWorld(quirks=Quirks(**dict.fromkeys(profile.quirks, True)), log_message_timestamp_after_max_ms=2**62)
    world.topic(TOPIC, LOGS, None, **{name.replace(".", "_"): value for name, value in CONFIGS.items()})
    producers = [kafka.producer_id() for _ in range(3)]
    sequences: list[dict[int, int]] = [{} for _ in range(LOGS)]

    def differing() -> list[str]:
        both = [(shown(kafka.batches(index)), shown(list(world.topics.batches(TOPIC, index)))) for index in range(LOGS)]
        return [f"log {index}\n  kafka {there}\n  ours  {here}" for index, (there, here) in enumerate(both) if there != here]

    stamp = int(time.time() * 1000) - 86_400_000
    for _ in range(2):
        for index in range(LOGS):
            log = drawn(dice, producers, sequences[index], stamp, dice.choice([1, 4, 12]))
            kafka.append(index, log)
            world.append(*log, topic=TOPIC, partition=index)
        stamp += 3_600_000
        world.command("compact_topic", topic=TOPIC)
        kafka.clean(differing)
        time.sleep(TOMBSTONES_MS / 1000 + 0.2)  # Kafka uses the machine's clock, so the test must really wait.
        world.sleep(TOMBSTONES_MS + 200)


@pytest.mark.parametrize("release", BROKERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_log_is_compacted_as_kafka_does(release: str, seed: int) -> None:
    with kafka(BROKERS[release], {"log.cleaner.backoff.ms": 100}) as bootstrap:
        host, _, port = bootstrap.rpartition(":")
        with Client(host, int(port)) as client:
            compare(Kafka(client), release, seed)
