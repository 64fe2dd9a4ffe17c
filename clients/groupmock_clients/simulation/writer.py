"""A simulated transactional producer, which writes transactions one after the other until it is fenced.

What it does is written as generators, because a producer does one thing at a time: each `yield` is a request (`Ask`), a pause (`Sleep`) or
a look for the coordinator (`Find`), and what comes back is the answer, None where there is none. Old clients name partitions and groups
before they use them, new ones (KIP-890) name nothing and have another epoch after each transaction; a producer's versions say which it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupmock.rig.classic_member import Partition
from groupmock_codec.api_keys import ADD_OFFSETS_TO_TXN, ADD_PARTITIONS_TO_TXN, END_TXN, INIT_PRODUCER_ID, PRODUCE, TXN_OFFSET_COMMIT
from groupmock_codec.error_codes import (
    CONCURRENT_TRANSACTIONS,
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    INVALID_PRODUCER_EPOCH,
    INVALID_PRODUCER_ID_MAPPING,
    INVALID_TXN_STATE,
    NOT_ENOUGH_REPLICAS,
    PRODUCER_FENCED,
    TRANSACTION_ABORTABLE,
    UNKNOWN_MEMBER_ID,
)
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k24_add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from groupmock_codec.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from groupmock_codec.messages.k26_end_txn import EndTxnRequest
from groupmock_codec.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from groupmock_codec.records import TRANSACTIONAL_BIT, NewRecord, encode_batch

from .plan import OFFSETS
from .process import REQUEST_MS, Process
from .reader import LOADING, NOT_THERE

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from .judges.transactions import PlayedTransaction
    from .plan import SimulatedWriter
    from .world import World

NEW_SINCE: Final = 5
"""The first version of EndTxn that only new clients (KIP-890) use."""
CODES: Final = ("error_code", "partition_error_code")
AGAIN_MS: Final = 60
POLL_MS: Final = 100
FENCED: Final = frozenset((INVALID_PRODUCER_EPOCH, PRODUCER_FENCED, INVALID_PRODUCER_ID_MAPPING))
REFUSED: Final = FENCED | {
    INVALID_TXN_STATE, TRANSACTION_ABORTABLE, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
}  # fmt: skip
"""The errors that are expected when a transaction was aborted by the coordinator, or when its group member has left."""


class Ask(NamedTuple):
    """A request of the producer to the coordinator of its transactional id, or to the given node."""

    key: int
    message: Message
    node: int | None = None


class Sleep(NamedTuple):
    ms: int


class Find(NamedTuple):
    """A search of the producer for the coordinator of its transactional id."""


Doing = Generator[Ask | Sleep | Find, Any, Any]


class Order(NamedTuple):
    """A transaction to be written: its number of records for each partition, whether it commits an offset, how it ends, and its group
    member."""

    places: dict[Partition, int]
    offset: bool
    commit: bool
    pause_ms: int
    member: tuple[str, int, str | None] | None


class Writer(Process):
    """A simulated transactional producer with a queue of transactions."""

    def __init__(self, world: World, about: SimulatedWriter) -> None:
        super().__init__(world, about.name, about.transactional_id, about.versions, POLL_MS, key_type=1)
        self.about = about
        self.new = about.versions[END_TXN] >= NEW_SINCE
        self.orders: deque[Order] = deque()
        self.holder: tuple[int, int] | None = None
        self.busy = False
        self.last: PlayedTransaction | None = None
        self._sequences: dict[Partition, int] = {}
        self._doing: Doing = self._live()

    # -- a process

    def order(self, order: Order) -> None:
        """Queue a transaction, unless the process is dead."""
        if self.alive:
            self.orders.append(order)

    def _born(self) -> None:
        self.orders.clear()
        self.holder = None
        self.busy = False
        self._doing = self._live()

    def _unfound(self) -> None:
        """Keep the producer id and the transaction, which do not depend on the coordinator."""

    def _begin(self) -> None:
        self._go_on(None)

    def _poll(self) -> None:
        """Do nothing, because the generator of transactions continues by itself."""

    def _go_on(self, answer: Any) -> None:
        try:
            wanted = self._doing.send(answer)
        except StopIteration:
            self.kill(half_open=False)
            return
        if isinstance(wanted, Sleep):
            self._later(wanted.ms, lambda: self._go_on(None))
        elif isinstance(wanted, Find):
            self._find()
        elif wanted.node is None:
            self._ask(wanted.key, wanted.message, self._here(self._go_on))
        else:
            self._link(wanted.node).ask(wanted.key, self._version(wanted.key), wanted.message, self._here(self._go_on), REQUEST_MS)

    # -- what it does

    def _live(self) -> Doing:
        if not (yield from self._come(again=False)):
            return
        while True:
            if not self.orders:
                yield Sleep(POLL_MS)
                continue
            self.busy = True
            well = yield from self._transact(self.orders.popleft())
            if not well and not (self.about.recovers and (yield from self._come(again=True))):
                return
            self.busy = False

    def _come(self, again: bool) -> Doing:
        """Get a producer id and epoch from the coordinator, with `again` by presenting the current ones (KIP-360). False: it is fenced
        for good."""
        producer_id, epoch = self.holder if again and self.holder is not None else (-1, -1)
        message = InitProducerIdRequest(
            transactional_id=self.key, transaction_timeout_ms=self.about.timeout_ms, producer_id=producer_id, producer_epoch=epoch
        )
        answer = yield from self._coordinated(INIT_PRODUCER_ID, message)
        if answer.error_code:
            self._expect(INIT_PRODUCER_ID, answer.error_code, FENCED if again else frozenset())
            return False
        self.holder = answer.producer_id, answer.producer_epoch
        self._sequences.clear()
        return True

    def _transact(self, order: Order) -> Doing:
        """Play one transaction, and return whether it ended as the plan orders. False: what it is told is not the end that it asked for."""
        assert self.holder is not None
        judge = self.world.bench.transactions
        register = (self.about.group, OFFSETS, self.about.register) if order.offset else None
        self.last = transaction = judge.begins(self.key, order.places, register)
        well, touched = True, False
        for place in order.places:
            well, added = yield from self._write(transaction, place)
            touched |= added
            if not well:
                break
        if well and transaction.register is not None:
            well, added = yield from self._commit_offset(transaction, order)
            touched |= added
        if order.pause_ms:
            yield Sleep(order.pause_ms)
        if not touched:
            judge.ends(transaction, False)
            return well
        return (yield from self._end(transaction, order.commit and well)) and well

    def _write(self, transaction: PlayedTransaction, place: Partition) -> Doing:
        """Write the records of one partition, and return whether they were written and whether the partition may be part of the
        transaction."""
        topic, partition = place
        if not self.new:
            topics = [AddPartitionsToTxnTopic(name=topic, partitions=[partition])]
            producer_id, epoch = self._holder()
            message = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.key, v3_and_below_producer_id=producer_id, v3_and_below_producer_epoch=epoch,
                v3_and_below_topics=topics,
            )  # fmt: skip
            answer = yield from self._coordinated(ADD_PARTITIONS_TO_TXN, message)
            if code := _code(answer):
                self._expect(ADD_PARTITIONS_TO_TXN, code, REFUSED)
                return False, False
        values = transaction.values[place]
        producer_id, epoch = self._holder()
        data = encode_batch(
            [NewRecord(value=value, timestamp=0) for value in values], producer_id=producer_id, producer_epoch=epoch,
            base_sequence=self._sequences.get(place, 0), attributes=TRANSACTIONAL_BIT,
        )  # fmt: skip
        rows = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=data)])]
        message_of_records = ProduceRequest(transactional_id=self.key, acks=-1, timeout_ms=1_000, topic_data=rows)
        while True:
            node = next(iter(self.world.led([place])), None)
            answer = None if node is None else (yield Ask(PRODUCE, message_of_records, node))
            told = None if answer is None else answer.responses[0].partition_responses[0]
            if told is None or told.error_code in NOT_THERE | LOADING | {NOT_ENOUGH_REPLICAS, CONCURRENT_TRANSACTIONS}:
                yield Sleep(AGAIN_MS)
            elif told.error_code:
                self._expect(PRODUCE, told.error_code, REFUSED)
                return False, True
            else:
                self._sequences[place] = self._sequences.get(place, 0) + len(values)
                self.world.bench.transactions.wrote(transaction, place, told.base_offset)
                return True, True

    def _commit_offset(self, transaction: PlayedTransaction, order: Order) -> Doing:
        """Commit the offset of a transaction, and return whether the commit was accepted and whether the group may be part of the
        transaction."""
        assert transaction.register is not None
        group, topic, partition = transaction.register
        producer_id, epoch = self._holder()
        about: dict[str, Any] = {"transactional_id": self.key, "producer_id": producer_id, "producer_epoch": epoch, "group_id": group}
        if not self.new:
            answer = yield from self._coordinated(ADD_OFFSETS_TO_TXN, AddOffsetsToTxnRequest(**about))
            if answer.error_code:
                self._expect(ADD_OFFSETS_TO_TXN, answer.error_code, REFUSED)
                return False, False
        if order.member is not None:
            about["member_id"], about["generation_id"], about["group_instance_id"] = order.member
        rows = [TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=transaction.number)]
        message = TxnOffsetCommitRequest(**about, topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=rows)])
        while True:
            node = self.world.core.cluster.groups.hosting.node_of(group)
            answer = None if node is None or not self.world.up(node) else (yield Ask(TXN_OFFSET_COMMIT, message, node))
            code = None if answer is None else _code(answer)
            if code is None or code in NOT_THERE | LOADING | {NOT_ENOUGH_REPLICAS, CONCURRENT_TRANSACTIONS}:
                yield Sleep(AGAIN_MS)
            elif code:
                self._expect(TXN_OFFSET_COMMIT, code, REFUSED)
                return False, True
            else:
                return True, True

    def _end(self, transaction: PlayedTransaction, commit: bool) -> Doing:
        """Commit or abort the transaction, and return whether that succeeded. What a producer cannot know is left open: it asked to
        commit, and was fenced when it asked again."""
        judge = self.world.bench.transactions
        judge.asks_end(transaction, commit)
        producer_id, epoch = self._holder()
        message = EndTxnRequest(transactional_id=self.key, producer_id=producer_id, producer_epoch=epoch, committed=commit)
        answer, lost = None, False
        while answer is None or answer.error_code == CONCURRENT_TRANSACTIONS or answer.error_code in LOADING:
            answer = yield Ask(END_TXN, message)
            if answer is None:
                lost = True
            if answer is None or answer.error_code in LOADING:
                yield Find()
            elif answer.error_code:
                yield Sleep(AGAIN_MS)
        if answer.error_code:
            self._expect(END_TXN, answer.error_code, FENCED | {INVALID_TXN_STATE})
            judge.ends(transaction, None if commit and lost else False)
            return False
        judge.ends(transaction, commit)
        if self.new:
            self.holder = answer.producer_id, answer.producer_epoch
            self._sequences.clear()
        return True

    # -- asking

    def _coordinated(self, key: int, message: Message) -> Doing:
        """Send a request to the coordinator, and look for the coordinator again, until there is an answer."""
        while True:
            answer = yield Ask(key, message)
            code = None if answer is None else _code(answer)
            if code is None or code in LOADING:
                yield Sleep(AGAIN_MS)
                yield Find()
            elif code in NOT_THERE or code == CONCURRENT_TRANSACTIONS:
                yield Sleep(AGAIN_MS)
            else:
                return answer

    def _holder(self) -> tuple[int, int]:
        assert self.holder is not None
        return self.holder

    def _expect(self, key: int, code: int, may: frozenset[int]) -> None:
        if code not in may:
            self.world.bench.found("answers", f"{self.name} is answered {code} to API {key}, which it has done nothing to deserve")


def _code(answer: Any) -> int:
    """Return the first error of an answer, its own or that of a partition."""
    told: list[Any] = [answer]
    for topic in getattr(answer, "results_by_topic_v3_and_below", None) or getattr(answer, "topics", None) or ():
        told += getattr(topic, "results_by_partition", None) or topic.partitions
    return next((code for each in told for name in CODES if (code := getattr(each, name, 0))), 0)
