"""The levels of transaction.version (TX-03, TX-23, TX-24) have the same effect on Apache Kafka 4.3.0 and on groupmock.

It needs java and the shared folder.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from groupmock import Broker
from groupmock.core.transactions.levels import FEATURE
from groupmock.rig.wire import Client
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from groupmock_codec.messages.k26_end_txn import EndTxnRequest
from groupmock_codec.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from groupmock_codec.messages.k57_update_features import FeatureUpdateKey, UpdateFeaturesRequest
from groupmock_codec.messages.k65_describe_transactions import DescribeTransactionsRequest
from groupmock_codec.records import TRANSACTIONAL_BIT, NewRecord, encode_batch
from tools.oracle import kafka

PATIENCE_S = 20
NOT_YET = {3, 5, 6, 14, 15, 16, 51}
"""Error codes of a cluster that is still creating a topic or writing markers."""


def told(ask: Callable[[], int], but: set[int] = NOT_YET) -> int:
    """Repeat a request until its error code is not in `but`, and return the code."""
    end = time.monotonic() + PATIENCE_S
    while (code := ask()) in but and time.monotonic() < end:
        time.sleep(0.02)
    return code


class Producer:
    """A producer with a transactional id and partitions of its own. Its partitions belong to one topic."""

    def __init__(self, link: Client, topic: str, timeout_ms: int = 60_000) -> None:
        self.link, self.topic, self.name, self.timeout_ms = link, topic, f"x-{uuid.uuid4().hex}", timeout_ms
        self.pid = self.epoch = -1
        told(self.init)
        self.pid, self.epoch = self.answer.producer_id, self.answer.producer_epoch

    def init(self, own: bool = False) -> int:
        """Send an InitProducerId, with the producer's id if `own` is set, and return its error code."""
        asked = InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=self.timeout_ms)
        if own:
            asked.producer_id, asked.producer_epoch = self.pid, self.epoch
        self.answer = self.link.ask(22, 4, asked)
        return int(self.answer.error_code)

    def add(self, partition: int, version: int = 3, only: bool = False) -> int:
        topics = [AddPartitionsToTxnTopic(name=self.topic, partitions=[partition])]
        each = AddPartitionsToTxnTransaction(
            transactional_id=self.name, producer_id=self.pid, producer_epoch=self.epoch, verify_only=only, topics=topics
        )
        asked = AddPartitionsToTxnRequest(transactions=[each])
        if version < 4:
            asked = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.name, v3_and_below_producer_id=self.pid,
                v3_and_below_producer_epoch=self.epoch, v3_and_below_topics=topics,
            )  # fmt: skip
        answer = self.link.ask(24, version, asked)
        rows = answer.results_by_topic_v3_and_below or [row for each in answer.results_by_transaction for row in each.topic_results]
        return int(answer.error_code or rows[0].results_by_partition[0].partition_error_code)

    def write(self, partition: int, version: int, sequence: int = 0) -> int:
        data = encode_batch(
            [NewRecord(value=b"v", timestamp=int(time.time() * 1000))], producer_id=self.pid, producer_epoch=self.epoch,
            base_sequence=sequence, attributes=TRANSACTIONAL_BIT,
        )  # fmt: skip
        topics = [TopicProduceData(name=self.topic, partition_data=[PartitionProduceData(index=partition, records=data)])]
        asked = ProduceRequest(transactional_id=self.name, acks=-1, timeout_ms=5000, topic_data=topics)
        return told(lambda: int(self.link.ask(0, version, asked).responses[0].partition_responses[0].error_code), {3, 5, 6})

    def commit(self, version: int) -> int:
        topics = [TxnOffsetCommitRequestTopic(name=self.topic, partitions=[TxnOffsetCommitRequestPartition(committed_offset=1)])]
        asked = TxnOffsetCommitRequest(
            transactional_id=self.name, group_id=self.name, producer_id=self.pid, producer_epoch=self.epoch, topics=topics
        )
        return told(lambda: int(self.link.ask(28, version, asked).topics[0].partitions[0].error_code), {14, 15, 16})

    def end(self, committed: bool, version: int = 5) -> tuple[int, int]:
        """Send an EndTxn and return its error code and epoch."""
        asked = EndTxnRequest(transactional_id=self.name, producer_id=self.pid, producer_epoch=self.epoch, committed=committed)
        answer = self.link.ask(26, version, asked)
        return answer.error_code, answer.producer_epoch

    def state(self) -> str:
        """Return the transaction's state once all markers are written."""
        found: list[str] = []

        def look() -> int:
            answer = self.link.ask(65, 0, DescribeTransactionsRequest(transactional_ids=[self.name]))
            found.append(answer.transaction_states[0].transaction_state)
            return int(found[-1].startswith("Prepare"))

        told(look, {1})
        return found[-1]


def finalized(link: Client) -> int:
    answer = link.ask(18, 4, ApiVersionsRequest(client_software_name="twin", client_software_version="1"))
    return next((each.max_version_level for each in answer.finalized_features if each.name == FEATURE), 0)


def reach(link: Client, level: int) -> None:
    """Set the cluster's transaction.version to the level."""
    update = FeatureUpdateKey(feature=FEATURE, max_version_level=level, upgrade_type=1 if level > finalized(link) else 2)
    answer = link.ask(57, 2, UpdateFeaturesRequest(timeout_ms=5000, feature_updates=[update]))
    assert answer.error_code == 0, answer
    assert told(lambda: finalized(link), {0, 1, 2} - {level}) == level


def steps(new: Callable[..., Producer]) -> Iterator[object]:
    """Yield the results of the requests at one level, also for ids with an open transaction."""
    for version in (11, 12):
        one = new()
        yield f"Produce v{version}", one.write(0, version), one.state(), one.add(1), one.init(), one.end(False, 4)
        one = new()
        yield "added", one.add(0), one.write(0, version), one.write(1, version), one.end(True, 4)
    for version in (4, 5):
        one = new()
        yield f"TxnOffsetCommit v{version}", one.commit(version), one.state(), one.init()
    for version, only in itertools.product((4, 5), (False, True)):
        one = new()
        yield f"AddPartitionsToTxn v{version}", only, one.add(0, version, only), one.state(), one.add(0, 3)
    one = new()
    yield "EndTxn v5 of nothing", one.end(True), one.end(False), one.state()
    one = new()
    yield "EndTxn v5", one.add(0), one.write(0, 11), one.end(True), one.state(), one.end(True), one.end(False)
    one = new()
    yield "TX-23", one.add(0), one.init(own=True), one.state(), one.init(own=True), one.init()
    one = new(timeout_ms=300)
    one.add(0)
    told(lambda: int(one.state() == "Ongoing"), {1})
    yield "TX-24", one.init(own=True), one.end(True), one.end(False), one.end(True, 4)


def seen(bootstrap: str) -> list[object]:
    """Return the results at each level of transaction.version."""
    host, port = bootstrap.split(",")[0].rsplit(":", 1)
    found: list[object] = []
    with Client(host, int(port)) as link:
        topic = f"t-{uuid.uuid4().hex}"
        for kind in (0, 1):  # The first FindCoordinator of each kind creates the topic of the coordinator.
            told(lambda kind=kind: int(link.ask(10, 1, FindCoordinatorRequest(key="twin", key_type=kind)).error_code))  # type: ignore[misc]
        link.ask(19, 5, CreateTopicsRequest(topics=[CreatableTopic(name=topic, num_partitions=2, replication_factor=1)], timeout_ms=5000))

        def new(**how: Any) -> Producer:
            return Producer(link, topic, **how)

        for level in (2, 1, 0):
            reach(link, level)
            found += [(level, each) for each in steps(new)]
    return found


def test_levels_of_transactions_are_those_of_kafka() -> None:
    interval = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 200}
    with kafka("4.3.0", interval) as there, Broker(profile="kafka-4.3", settings=interval) as here:
        assert seen(here.bootstrap) == seen(there)
