"""Produce (0) appends records to partitions. It has message sets in v0-v2, record batches and transactional ids since v3, zstd since v7,
record errors since v8, leader hints since v10 (KIP-951), and topic ids since v13. Answers are as observed on Kafka 4.3.0
(tests/unit/core/apis/test_produce.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.error_codes import error_name
from groupmock_codec.messages.k00_produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from groupmock_codec.records import Batch, RecordsError

from ..authorizer.acl import TOPIC, TRANSACTIONAL_ID, WRITE
from ..budget import Ration, within
from ..cluster import NOTHING
from ..effects import Close, Silent
from ..java.orders import java_computed_order, scala_map_order, scala_table_order
from ..log.partition import Partition
from ..log.place import Place, by_id, by_name
from ..log.producers import Origin
from ..log.topics import Topic
from ..log.validation import ONE_BATCH_SINCE, HandlerFails, Refused, TooShort, check, is_transactional, read_produced
from ..transactions.transactional_id import Holder

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

IDS_SINCE: Final = 13
ABORTABLE_SINCE: Final = 11  # Since this version the answer may be TRANSACTION_ABORTABLE (120) instead of INVALID_TXN_STATE (48) (KIP-890).
# Since this version of Produce, the first write to a partition adds the partition to its transaction (KIP-890).
NEW_TRANSACTIONS_SINCE: Final = 12
LEADER_HINTS_SINCE: Final = 10
NO_OFFSET: Final = -1
SEVERAL: Final = "Transactional records contained more than one producer ID"
NOT_ADDED: Final = "Partition was not added to the transaction"
PARTITION_COST: Final = 9


class NoAnswer(Exception):
    """Kafka's handler throws on this request, and the client gets no answer."""


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Append the accepted records and answer a row per partition. With acks=0 nothing is answered, and any error closes the connection,
    as Kafka does."""
    asked = request.message
    assert isinstance(asked, ProduceRequest)
    # Kafka 4.3 dropped v0 to v2 (KIP-896), but has to advertise them because librdkafka looks for them (Quirks.old_produce_closes).
    if request.version < ONE_BATCH_SINCE and turn.quirks.old_produce_closes:
        turn.out.append(Close(request.ticket, f"Produce v{request.version} is not served"))
        return
    ration = Ration(turn.settings)
    ration.take_names([topic.name for topic in asked.topic_data], PARTITION_COST)
    ration.take(within([topic.partition_data for topic in asked.topic_data]), PARTITION_COST)
    produce = Produce(cluster, request, asked, turn)
    try:
        rows = produce.refused() or produce.rows()
    except NoAnswer as reason:
        turn.abandon(request.ticket, str(reason))
        return
    # With acks=0 a client reads no answer, so closing the connection is the only way to tell it of an error
    # (KafkaApis.handleProduceRequest).
    if asked.acks != 0:
        turn.reply(request.ticket, _response(cluster, rows, request.listener))
    elif any(row.error_code for row in rows.values()):
        codes = ", ".join(sorted({error_name(row.error_code) for row in rows.values() if row.error_code}))
        turn.out.append(Close(request.ticket, f"Produce with acks=0 failed: {codes}"))
    else:
        # abandon() would be wrong for acks=0, because it stops reading the connection (P1-d6), but such a producer continues to send on it.
        turn.out.append(Silent(request.ticket))
    cluster.topics.fetches.changed(turn, produce.grown)


class Unverified(Refused):
    """The coordinator does not know the batch's transaction, so the batch was not written to the log
    (ReplicaManager.handleProduceAppend)."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason, NOT_ADDED if code == error_codes.INVALID_TXN_STATE else None, logged=False)


class Produce:
    """Handles one Produce request of a client. Its partitions that got records are in `grown`."""

    def __init__(self, cluster: Cluster, request: Request, asked: ProduceRequest, turn: Turn) -> None:
        self._cluster, self._topics, self._request, self._asked, self._turn = cluster, cluster.topics, request, asked, turn
        self._transactions = cluster.transactions
        self._room = turn.settings.room()
        # Versions that add partitions to a transaction are always verified (ReplicaManager.maybeSendPartitionsToTransactionCoordinator).
        self._verifies = turn.settings.transaction_partition_verification_enable or request.version >= NEW_TRANSACTIONS_SINCE
        self._by_table = False
        self._fenced: list[Place] = []
        self._unverified: dict[Place, Unverified] = {}
        self.grown: list[tuple[str, int]] = []

    def refused(self) -> dict[Place, PartitionProduceResponse]:
        """Return a row for every partition if the request is refused as a whole, else no rows."""
        asked = self._asked
        try:
            transactional = any(is_transactional(data.records or b"") for topic in asked.topic_data for data in topic.partition_data)
            code, message = error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, None
            if not transactional or (asked.transactional_id is not None and self._may_write_in(asked.transactional_id)):
                return {}
        except Refused as refused:
            code, message = refused.error_code, refused.message
        return self._whole(code, message)

    def _may_write_in(self, transactional_id: str) -> bool:
        return not self._cluster.denied(self._turn, self._request, WRITE, TRANSACTIONAL_ID, (transactional_id,))

    def _denied(self) -> frozenset[str]:
        """Return the names of those topics of the request to which the sender may not write."""
        if self._cluster.authorizer is None:
            return NOTHING
        by_id, name_of = self._request.version >= IDS_SINCE, self._topics.name_of
        names = [name_of(topic.topic_id) if by_id else topic.name for topic in self._asked.topic_data if topic.partition_data]
        return self._cluster.denied(self._turn, self._request, WRITE, TOPIC, [name for name in names if name is not None])

    def _whole(self, code: int, message: str | None) -> dict[Place, PartitionProduceResponse]:
        """Return rows that refuse every partition of the request with the same error. Kafka cannot even answer a refusal if records are
        null."""
        asked = self._asked
        # To answer a refusal, Kafka adds up the sizes of all records (ProduceRequest.partitionSizes), which throws on null records:
        # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
        if any(data.records is None for topic in asked.topic_data for data in topic.partition_data):
            raise NoAnswer("a refused Produce with null records")
        places = [Place(topic.name, topic.topic_id, data.index) for topic in asked.topic_data for data in topic.partition_data]
        by = by_name if self._turn.quirks.produce_by_name_only else by_id
        return {place: _row(place, code, message) for place in java_computed_order(places, by)}

    def rows(self) -> dict[Place, PartitionProduceResponse]:
        """Return the rows of all partitions in the order of Kafka's maps, beginning with the partitions that reached a log. If a
        partition is listed twice, the last readable records are written, though the row is that of the unreadable ones."""
        readable: dict[Place, list[Batch] | TooShort | None] = {}
        denied, unauthorized = self._denied(), dict[Place, PartitionProduceResponse]()
        absent: dict[Place, PartitionProduceResponse] = {}
        unreadable: dict[Place, PartitionProduceResponse] = {}
        for asked in self._asked.topic_data:
            for data in asked.partition_data:
                place = Place(asked.name, asked.topic_id, data.index)
                topic = self._topic(place)
                if denied and (asked.name if topic is None else topic.name) in denied:
                    unauthorized[place] = _row(place, error_codes.TOPIC_AUTHORIZATION_FAILED)
                    continue
                if topic is None or not 0 <= place.partition < len(topic.partitions):
                    absent[place] = _row(place, self._absent(topic))
                    continue
                try:
                    readable[place] = self._read(data.records)
                except TooShort as short:
                    # Batches that are too short count as readable, because only the log refuses them, after wrong acks and a wrong leader.
                    readable[place] = short
                except HandlerFails as error:
                    # A batch on which Kafka's handler throws refuses all partitions of the request, even those read before it:
                    # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
                    return self._whole(error.error_code, None)
                except RecordsError as error:
                    unreadable[place] = _refused(place, error, topic.partitions[place.partition])
        # The batches of all partitions must have the same producer, whether or not they are verified (ReplicaManager.handleProduceAppend).
        producers = {by for batches in readable.values() for by in _transactional(batches)}
        if len(producers) > 1:
            return self._whole(error_codes.INVALID_PRODUCER_ID_MAPPING, SEVERAL)
        # Null records are never answered by Kafka 3.9 and later.
        if None in readable.values():
            raise NoAnswer("Produce with null records")
        # Partitions are verified and added before anything is written, by topic name alone
        # (ReplicaManager.maybeSendPartitionsToTransactionCoordinator).
        for place in scala_table_order(readable, self._hash_of_name) if producers and self._verifies else ():
            self._verify(place, readable[place])
        reached = {place: self._reach(place, readable[place] or []) for place in scala_table_order(readable, self._hash)}
        rows = {
            **{place: reached[place] for place in self._fenced},
            **reached,
            **{place: unauthorized[place] for place in scala_table_order(unauthorized, self._hash)},
            **{place: absent[place] for place in scala_table_order(absent, self._hash)},
            **{place: unreadable[place] for place in scala_table_order(unreadable, self._hash)},
        }
        # Scala's small immutable maps keep up to four entries in order of insertion. If a coordinator is asked, Kafka uses a mutable map
        # instead, which is always in hash order.
        in_table = bool(reached) and self._by_table
        return {place: rows[place] for place in (scala_table_order if in_table else scala_map_order)(rows, self._hash)}

    def _hash(self, place: Place) -> int:
        """Return the hash of the partition's key in Kafka's maps. Since 4.1 the key has a topic id, whatever the request's version: that
        of an existing topic, else zeros."""
        if self._turn.quirks.produce_by_name_only:
            return by_name(place)
        topic = self._topic(place)
        if topic is not None:
            return by_id(place._replace(name=topic.name, topic_id=topic.topic_id))
        return by_id(place)

    def _hash_of_name(self, place: Place) -> int:
        topic = self._topic(place)
        return by_name(place if topic is None else place._replace(name=topic.name))

    def _topic(self, place: Place) -> Topic | None:
        topics = self._topics
        name = topics.name_of(place.topic_id) if self._request.version >= IDS_SINCE else place.name
        return None if name is None else topics.get(name)

    def _absent(self, topic: Topic | None) -> int:
        by_id = self._request.version >= IDS_SINCE
        return error_codes.UNKNOWN_TOPIC_ID if by_id and topic is None else error_codes.UNKNOWN_TOPIC_OR_PARTITION

    def _read(self, records: bytes | None) -> list[Batch] | None:
        return None if records is None else read_produced(records, self._request.version, self._room)

    def _reach(self, place: Place, batches: list[Batch] | TooShort) -> PartitionProduceResponse:
        topic = self._topic(place)
        assert topic is not None
        partition = topic.partitions[place.partition]
        if place in self._unverified:
            return _refused(place, self._unverified[place], partition)
        if self._asked.acks not in (-1, 0, 1):
            return _row(place, error_codes.INVALID_REQUIRED_ACKS)
        if partition.leader != self._request.node:
            return self._elsewhere(place, partition)
        if topic.internal:
            return _row(place, error_codes.INVALID_TOPIC_EXCEPTION)
        try:
            if isinstance(batches, TooShort):
                raise batches
            self._check(topic, partition, batches)
            appended = self._topics.write(self._turn, topic, partition, batches, Origin.CLIENT)
        except RecordsError as error:
            return _refused(place, error, partition)
        if appended.grew:
            self.grown.append((topic.name, partition.index))
        return PartitionProduceResponse(
            index=place.partition,
            base_offset=appended.base_offset,
            log_append_time_ms=appended.log_append_time,
            log_start_offset=partition.start,
        )

    def _verify(self, place: Place, batches: list[Batch] | TooShort | None) -> None:
        """Verify the first batch of a transaction in a partition with the transaction's coordinator, which knows of the partition or
        adds it now (KIP-890; TX-67 to TX-69)."""
        topic = self._topic(place)
        assert topic is not None
        partition, any_epoch = topic.partitions[place.partition], self._turn.quirks.any_epoch_is_amid_its_transaction
        if not isinstance(batches, list) or partition.leader != self._request.node:
            return
        for batch in batches:
            by = Holder(batch.producer_id, batch.producer_epoch)
            if _is_checked(batch) and not partition.producers.in_transaction(*by, any_epoch):
                at = (topic.name, partition.index)
                code = self._asked_about(place, at, partition, batch, by)
                if code != error_codes.NONE:
                    self._unverified[place] = Unverified(code, f"{at[0]}-{at[1]} is not in an open transaction of that producer")
                    return

    def _asked_about(self, place: Place, at: tuple[str, int], partition: Partition, batch: Batch, by: Holder) -> int:
        if partition.producers.is_fenced(*by) and not self._turn.quirks.coordinator_asked_first:
            self._fenced.append(place)
            return error_codes.INVALID_PRODUCER_EPOCH
        name, adds = self._asked.transactional_id or "", self._request.version >= NEW_TRANSACTIONS_SINCE
        self._by_table = True
        partition.producers.tries(batch, self._turn.wall_ms, adds)
        code = self._transactions.check(self._turn, name, by, at, adds, self._request.client_id)
        too_new = code == error_codes.TRANSACTION_ABORTABLE and self._request.version < ABORTABLE_SINCE
        return error_codes.INVALID_TXN_STATE if too_new else code

    def _check(self, topic: Topic, partition: Partition, batches: list[Batch]) -> None:
        wall_ms = self._turn.wall_ms
        limits = self._topics.limits(topic, partition.leader)
        for batch in batches:
            check(batch, limits, wall_ms, f"{topic.name}-{partition.index}", self._room)

    def _elsewhere(self, place: Place, partition: Partition) -> PartitionProduceResponse:
        row = _row(place, error_codes.NOT_LEADER_OR_FOLLOWER)
        # With a leader hint a client goes to the new leader without a Metadata request (KIP-951).
        if self._request.version >= LEADER_HINTS_SINCE:
            row.current_leader = LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)
        return row


def _is_checked(batch: Batch) -> bool:
    """True if the batch belongs to a transaction, so that it may have to be verified. Without a producer id it is in none, whatever it
    says (ReplicaManager.handleProduceAppend)."""
    return batch.transactional and batch.producer_id >= 0


def _transactional(batches: list[Batch] | TooShort | None) -> Iterator[Holder]:
    """Yield the producer id and epoch of each transactional batch."""
    for batch in batches if isinstance(batches, list) else ():
        if _is_checked(batch):
            yield Holder(batch.producer_id, batch.producer_epoch)


def _row(place: Place, code: int, message: str | None = None) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=place.partition, error_code=code, base_offset=NO_OFFSET, error_message=message)


def _refused(place: Place, error: RecordsError, partition: Partition) -> PartitionProduceResponse:
    row = _row(place, error.error_code)
    if not isinstance(error, Refused):
        row.log_start_offset = partition.start
        return row
    row.error_message = error.message if error.logged or error.faults or isinstance(error, Unverified) else None
    row.record_errors = [
        BatchIndexAndErrorMessage(batch_index=fault.place, batch_index_error_message=fault.message) for fault in error.faults
    ]
    if error.logged:
        row.log_start_offset = partition.start
    return row


def _response(cluster: Cluster, rows: dict[Place, PartitionProduceResponse], listener: str) -> ProduceResponse:
    topics: dict[tuple[str, bytes], TopicProduceResponse] = {}
    for place, row in rows.items():
        topic = topics.setdefault((place.name, place.topic_id), TopicProduceResponse(name=place.name, topic_id=place.topic_id))
        topic.partition_responses.append(row)
    hinted = {row.current_leader.leader_id for row in rows.values()}
    endpoints = [
        NodeEndpoint(node_id=node.node_id, host=at.host, port=at.port, rack=node.rack)
        for node, at in cluster.environment.reached(cluster.environment.identity.nodes, listener)
        if node.node_id in hinted
    ]
    return ProduceResponse(responses=list(topics.values()), node_endpoints=endpoints)
