"""A cluster with transactional producers whose requests pass through the codec. Every request goes through the codec; answers are codes
and tuples."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from log_world import LogWorld, batch

from groupmock.config import profiles
from groupmock.core.identity import Feature
from groupmock.core.settings import Quirks
from groupmock_codec.markers import marker_of
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from groupmock_codec.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from groupmock_codec.messages.k26_end_txn import EndTxnRequest
from groupmock_codec.messages.k57_update_features import FeatureUpdateKey, UpdateFeaturesRequest
from groupmock_codec.messages.k65_describe_transactions import DescribeTransactionsRequest
from groupmock_codec.messages.k66_list_transactions import ListTransactionsRequest
from groupmock_codec.records import read_batches

TRANSACTIONAL: Final = 0x10
NOBODY: Final = (-1, -1)


class Pid(NamedTuple):
    """The id and epoch of a producer."""

    id: int
    epoch: int

    def older(self, by: int = 1) -> Pid:
        """Return the same producer with an earlier epoch, or a future one for a negative number."""
        return Pid(self.id, self.epoch - by)


class TransactionWorld(LogWorld):
    """A cluster with the topic `t` of two partitions and the features of a profile."""

    def __init__(self, profile: str = "groupmock", *, nodes: int = 1, **settings: Any) -> None:
        loaded = profiles.load(profile)
        verifies = bool(loaded.settings.get("transaction.partition.verification.enable", True))
        settings = {"transaction_partition_verification_enable": verifies, **settings}
        features = tuple(Feature(*each) for each in loaded.features)
        super().__init__(nodes=nodes, quirks=Quirks(**dict.fromkeys(loaded.quirks, True)), features=features, **settings)
        self.topic("t", 2)

    def at_level(self, level: int) -> TransactionWorld:
        """Set the cluster's transaction.version to this level."""
        lowered = FeatureUpdateKey(feature="transaction.version", max_version_level=level, upgrade_type=2)
        assert self.ask(57, 2, UpdateFeaturesRequest(feature_updates=[lowered])).error_code == 0
        return self

    # -- The coordinator

    def coordinator(self, name: str = "x") -> Any:
        return self.ask(10, 1, FindCoordinatorRequest(key=name, key_type=1))

    def init_code(self, name: str | None = "x", own: Pid | None = None, *, version: int = 4, timeout: int = 60_000, node: int = 1) -> Any:
        """Send InitProducerId and return error, producer id and epoch."""
        asked = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=timeout)
        if own is not None:
            asked.producer_id, asked.producer_epoch = own
        found = self.ask(22, version, asked, node=node)
        return found.error_code, found.producer_id, found.producer_epoch

    def init(self, name: str | None = "x", own: Pid | None = None, **how: Any) -> Pid:
        """Send InitProducerId, retry it while it answers CONCURRENT_TRANSACTIONS (51), and return the new producer id and epoch."""
        found = self.init_code(name, own, **how)
        if found[0] == 51:
            found = self.init_code(name, own, **how)
        assert found[0] == 0, found
        return Pid(found[1], found[2])

    def add(self, pid: Pid, *partitions: int, name: str = "x", version: int = 3, topic: str = "t", node: int = 1) -> list[int]:
        topics = [AddPartitionsToTxnTopic(name=topic, partitions=list(partitions or (0,)))]
        asked = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=pid.id,
            v3_and_below_producer_epoch=pid.epoch,
            v3_and_below_topics=topics,
        )
        if version >= 4:
            each = AddPartitionsToTxnTransaction(transactional_id=name, producer_id=pid.id, producer_epoch=pid.epoch, topics=topics)
            asked = AddPartitionsToTxnRequest(transactions=[each])
        answer = self.ask(24, version, asked, node=node)
        found = answer.results_by_topic_v3_and_below if version < 4 else answer.results_by_transaction[0].topic_results
        return [row.partition_error_code for each in found for row in each.results_by_partition]

    def add_nothing(self, pid: Pid) -> list[Any]:
        """Send AddPartitionsToTxn without partitions and return the answer."""
        asked = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="x", v3_and_below_producer_id=pid.id, v3_and_below_producer_epoch=pid.epoch
        )
        return list(self.ask(24, 3, asked).results_by_topic_v3_and_below)

    def verify(self, pid: Pid, partition: int = 0, *, name: str = "x", version: int = 4) -> int:
        """Send AddPartitionsToTxn that only verifies and return the error code for the partition."""
        topics = [AddPartitionsToTxnTopic(name="t", partitions=[partition])]
        each = AddPartitionsToTxnTransaction(
            transactional_id=name, producer_id=pid.id, producer_epoch=pid.epoch, verify_only=True, topics=topics
        )
        answer = self.ask(24, version, AddPartitionsToTxnRequest(transactions=[each]))
        return int(answer.results_by_transaction[0].topic_results[0].results_by_partition[0].partition_error_code)

    def offsets(self, pid: Pid, *, group: str = "g", name: str = "x", version: int = 3, node: int = 1) -> int:
        """Send AddOffsetsToTxn and return its error code."""
        asked = AddOffsetsToTxnRequest(transactional_id=name, producer_id=pid.id, producer_epoch=pid.epoch, group_id=group)
        return int(self.ask(25, version, asked, node=node).error_code)

    def end(self, pid: Pid, commit: bool = True, *, name: str = "x", version: int = 3, node: int = 1) -> int:
        """Send EndTxn and return its error code."""
        return int(self.finish(pid, commit, name=name, version=version, node=node)[0])

    def finish(self, pid: Pid, commit: bool = True, *, name: str = "x", version: int = 5, node: int = 1) -> tuple[int, int, int]:
        """Send EndTxn and return error, producer id and epoch."""
        asked = EndTxnRequest(transactional_id=name, producer_id=pid.id, producer_epoch=pid.epoch, committed=commit)
        answer = self.ask(26, version, asked, node=node)
        return answer.error_code, answer.producer_id, answer.producer_epoch

    def described(self, *names: str, node: int = 1) -> Any:
        return self.ask(65, 0, DescribeTransactionsRequest(transactional_ids=list(names or ("x",))), node=node).transaction_states

    def state(self, name: str = "x") -> tuple[str, int]:
        row = self.described(name)[0]
        return row.transaction_state, row.producer_epoch

    def listed(self, version: int = 2, node: int = 1, **filters: Any) -> list[str]:
        answer = self.ask(66, version, ListTransactionsRequest(**filters), node=node)
        return [each.transactional_id for each in answer.transaction_states]

    # -- The log

    def write(
        self,
        pid: Pid,
        sequence: int = 0,
        *,
        partition: int = 0,
        version: int = 10,
        name: str | None = "x",
        bits: int = 16,
        value: bytes = b"v",
    ) -> int:
        """Produce one record of a transaction and return the error code."""
        sent = batch(value, producer_id=pid.id, producer_epoch=pid.epoch, base_sequence=sequence, attributes=bits)
        topic, topic_id = ("", self.topic_id("t")) if version >= 13 else ("t", bytes(16))
        row = self.produce(sent, transactional_id=name, version=version, partition=partition, topic=topic, topic_id=topic_id)
        return int(row.get("error_code", 0))

    def produce_code(self, pid: Pid, *, node: int) -> int:
        """Produce without AddPartitionsToTxn at that node and return the error code."""
        sent = batch(b"v", producer_id=pid.id, producer_epoch=pid.epoch, base_sequence=0, attributes=TRANSACTIONAL)
        return int(self.produce(sent, transactional_id="x", version=12, node=node).get("error_code", 0))

    def markers(self, partition: int = 0, topic: str = "t") -> list[tuple[int, int, bool | None]]:
        """Return (producer id, epoch, committed) of every marker of a partition."""
        found = self.topics.batches(topic, partition)
        return [(each.producer_id, each.producer_epoch, marker_of(each)) for each in found if each.control]

    def committed(self, partition: int = 0) -> int:
        """Count the data batches that a read_committed consumer sees."""
        log = self.topics.require_partition("t", partition)
        aborted = log.producers.transactions
        data = read_batches(log.read(0, 1 << 30, True, log.stable()))
        return sum(
            1
            for each in data
            if not each.control and not (each.transactional and aborted and aborted.aborted_batch(each.producer_id, each.base_offset))
        )
