"""Starts a group of two members that many tests of timelines, logs and stories share."""

from __future__ import annotations

from typing import Any

from groupmock_codec.api_keys import ADD_PARTITIONS_TO_TXN, END_TXN, FETCH, FIND_COORDINATOR, INIT_PRODUCER_ID, PRODUCE
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k24_add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from groupmock_codec.messages.k26_end_txn import EndTxnRequest
from groupmock_codec.records import NewRecord, encode_batch
from tools.mistakes.stage import Stage

TRANSACTIONAL = 0x10


class TwoMembers(Stage):
    """Starts Anna alone in the group `kitchen` and later ben; the topic `orders` has four partitions."""

    def __init__(self) -> None:
        super().__init__({"orders": 4})
        self.anna, self.ben = self.consumer("anna"), self.consumer("ben")
        self.together(self.anna)
        self.ben.join()
        self.anna.beat()
        self.together(self.anna, waiting=[self.ben])


class Kitchen(TwoMembers):
    """A group with a producer that has the transactional id `till`."""

    def by_till(self, key: int, version: int, message: Any) -> Any:
        return self.ask(key, version, message, connection="till", client_id="till")

    def begin(self) -> None:
        """Begin a transaction that writes one record to orders/0."""
        self.by_till(FIND_COORDINATOR, 1, FindCoordinatorRequest(key="till", key_type=1))
        told = self.by_till(INIT_PRODUCER_ID, 4, InitProducerIdRequest(transactional_id="till", transaction_timeout_ms=60_000))
        self.who = {"producer_id": told.producer_id, "producer_epoch": told.producer_epoch}
        named = {f"v3_and_below_{name}": value for name, value in {"transactional_id": "till", **self.who}.items()}
        topics = [AddPartitionsToTxnTopic(name="orders", partitions=[0])]
        self.by_till(ADD_PARTITIONS_TO_TXN, 3, AddPartitionsToTxnRequest(**named, v3_and_below_topics=topics))
        self.write()

    def write(self) -> None:
        record = NewRecord(key=None, value=b"v", timestamp=0)
        sent = encode_batch([record], **self.who, base_sequence=0, attributes=TRANSACTIONAL)
        data = [TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=sent)])]
        self.by_till(PRODUCE, 9, ProduceRequest(acks=-1, timeout_ms=1000, transactional_id="till", topic_data=data))

    def end(self) -> None:
        self.by_till(END_TXN, 1, EndTxnRequest(transactional_id="till", **self.who, committed=True))

    def fetch(self, offset: int, *, last_fetched_epoch: int = -1, isolation_level: int = 0) -> None:
        """Fetch orders/0 as anna without waiting for records."""
        wanted = FetchPartition(partition=0, fetch_offset=offset, last_fetched_epoch=last_fetched_epoch, partition_max_bytes=1000)
        message = FetchRequest(max_bytes=1000, isolation_level=isolation_level, topics=[FetchTopic(topic="orders", partitions=[wanted])])
        self.ask(FETCH, 12, message, connection="anna/data", client_id="anna")
