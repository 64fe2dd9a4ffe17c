"""What a partition remembers of producers: the last five batches of each, so that a retry is not written twice (KIP-98), its epoch, so
that one that was replaced writes no more, and by which coordinator its last transaction was ended."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

import msgspec

from groupmock_codec.errors import ErrorCode
from groupmock_codec.records import Batch, RecordsError, next_sequence

from .transactions import LogTransactions, Marker

# An idempotent producer has five requests under way at most (ProducerStateEntry.NUM_BATCHES_TO_RETAIN)
REMEMBERED: Final = 5
NO_SEQUENCE: Final = -1
NO_COORDINATOR: Final = -1


class Written(NamedTuple):
    """One batch that was appended. `timestamp` is the batch's largest, what Kafka reports for a duplicate."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class ProducerState(msgspec.Struct):
    """One producer id at one partition. `seen`: wall clock (ms) of its last append, for expiry; `timestamp`: of its last batch or marker;
    `coordinator_epoch`: of the coordinator that ended its last transaction here."""

    epoch: int
    seen: int
    batches: deque[Written]
    timestamp: int = -1
    coordinator_epoch: int = NO_COORDINATOR

    @property
    def last_sequence(self) -> int:
        """-1: it wrote nothing in this epoch."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


class Attempt(msgspec.Struct):
    """A transaction that is to begin here, from its producer's first try on until a batch or a marker of it is written (KIP-890;
    VerificationStateEntry). `lowest`: the lowest sequence that was tried in that epoch; `begins_at_zero`: by a new client first."""

    epoch: int
    lowest: int
    begins_at_zero: bool
    seen: int

    def again(self, batch: Batch) -> None:
        """Another try."""
        if batch.producer_epoch > self.epoch:
            self.epoch, self.lowest = batch.producer_epoch, batch.base_sequence
        elif batch.producer_epoch == self.epoch:
            self.lowest = min(self.lowest, batch.base_sequence)


class ProducerStates:
    """All producers of one partition, and the transactions that they have open there."""

    def __init__(self) -> None:
        self._states: dict[int, ProducerState] = {}
        self._attempts: dict[int, Attempt] = {}
        self.transactions: LogTransactions | None = None
        """Those of this partition, from its first transactional batch on."""

    def __len__(self) -> int:
        return len(self._states)

    def all(self) -> dict[int, ProducerState]:
        """By producer id."""
        return self._states

    def in_transaction(self, producer_id: int, epoch: int) -> bool:
        """Is a transaction of that producer open here? Then nobody is asked about its batches any more (KIP-890)."""
        state = self._states.get(producer_id)
        return state is not None and state.epoch == epoch and self.open_from(producer_id) is not None

    def is_fenced(self, producer_id: int, epoch: int) -> bool:
        """Has a higher epoch of that producer written here, or ended a transaction?"""
        state = self._states.get(producer_id)
        return state is not None and epoch < state.epoch

    def open_from(self, producer_id: int) -> int | None:
        """Where the producer's open transaction begins here; None: it has none."""
        return None if self.transactions is None else self.transactions.open_from(producer_id)

    def tried(self, batch: Batch, begins_at_zero: bool, wall_ms: int) -> None:
        """That batch would begin a transaction here, if its coordinator knows of it. A repetition counts too, and so the next new batch
        behind it is out of order until the lowest one that was tried is written (TX-61)."""
        attempt = self._attempts.get(batch.producer_id)
        if attempt is None:
            self._attempts[batch.producer_id] = Attempt(batch.producer_epoch, batch.base_sequence, begins_at_zero, wall_ms)
        else:
            attempt.again(batch)

    def check(self, batch: Batch) -> Written | None:
        """The earlier append that this batch repeats, None if it is new and in sequence.

        Raises INVALID_PRODUCER_EPOCH for an older epoch, OUT_OF_ORDER_SEQUENCE_NUMBER for a gap, INVALID_TXN_STATE for a plain batch amid
        a transaction. A producer id that the partition does not know (expired, or its records deleted) may begin with any sequence, as in
        Kafka since KIP-360, unless a new client is to begin a transaction, whose epoch is fresh (KIP-890).
        """
        state = self._states.get(batch.producer_id)
        if state is not None and batch.producer_epoch < state.epoch:
            raise RecordsError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"epoch {batch.producer_epoch} of producer {batch.producer_id}, the last seen is {state.epoch}",
            )
        if batch.base_sequence < 0:
            return None  # a coordinator's: clients write none without a sequence
        # Before the order: a retry lies behind the last sequence and would be refused as out of order
        if state is not None and (written := _written_before(batch, state)) is not None:
            return written
        self._follows_attempt(batch, state)
        if state is None:
            return None
        # A bumped epoch counts from 0 again (KIP-360; ProducerAppendInfo.checkSequence)
        _in_order(batch, 0 if batch.producer_epoch > state.epoch else next_sequence(state.last_sequence))
        if not batch.transactional and self.open_from(batch.producer_id) is not None:
            raise RecordsError(ErrorCode.INVALID_TXN_STATE, f"producer {batch.producer_id} is in the midst of a transaction")
        return None

    def _follows_attempt(self, batch: Batch, state: ProducerState | None) -> None:
        attempt = self._attempts.get(batch.producer_id)
        if attempt is None:
            return
        if attempt.begins_at_zero and state is None:
            _in_order(batch, 0)
        if batch.base_sequence > attempt.lowest:
            _in_order(batch, attempt.lowest)

    def wrote(self, batch: Batch, wall_ms: int) -> None:
        """Remember an appended batch (`batch` has its offsets in the log)."""
        state = self._states.get(batch.producer_id)
        # Batches of the old epoch are forgotten: the new one's sequences begin at 0 and would be taken for repetitions
        if state is None or state.epoch != batch.producer_epoch:
            state = self._entered(batch.producer_id, batch.producer_epoch, wall_ms, state)
        state.seen, state.timestamp = wall_ms, batch.max_timestamp
        state.batches.append(Written(batch.base_sequence, batch.last_sequence, batch.base_offset, batch.last_offset, batch.max_timestamp))
        if batch.transactional:
            self._attempts.pop(batch.producer_id, None)
            if self.transactions is None:
                self.transactions = LogTransactions()
            self.transactions.began(batch.producer_id, batch.base_offset)

    def check_marker(self, marker: Marker) -> None:
        """Raises INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED for a marker of the past (ProducerAppendInfo)."""
        state = self._states.get(marker.producer_id)
        if state is None:
            return
        if marker.producer_epoch < state.epoch:
            raise RecordsError(ErrorCode.INVALID_PRODUCER_EPOCH, f"a marker of epoch {marker.producer_epoch}, the last is {state.epoch}")
        if marker.coordinator_epoch < state.coordinator_epoch:
            raise RecordsError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"a coordinator of epoch {marker.coordinator_epoch}, the last is {state.coordinator_epoch}",
            )

    def marked(self, marker: Marker, offset: int, wall_ms: int) -> None:
        """A marker stands there: the producer's transaction is over, and its epoch is the marker's."""
        state = self._states.get(marker.producer_id)
        if state is None or state.epoch != marker.producer_epoch:
            state = self._entered(marker.producer_id, marker.producer_epoch, wall_ms, state)
        state.seen = state.timestamp = wall_ms
        state.coordinator_epoch = marker.coordinator_epoch
        self._attempts.pop(marker.producer_id, None)
        if self.transactions is not None:
            self.transactions.ended(marker, offset)

    def _entered(self, producer_id: int, epoch: int, wall_ms: int, before: ProducerState | None) -> ProducerState:
        coordinator = NO_COORDINATOR if before is None else before.coordinator_epoch
        state = ProducerState(epoch, wall_ms, deque(maxlen=REMEMBERED), coordinator_epoch=coordinator)
        self._states[producer_id] = state
        return state

    def last_offset(self, producer_id: int) -> int | None:
        """Where the producer's last batch ends; None: the partition does not remember it."""
        state = self._states.get(producer_id)
        return state.batches[-1].last_offset if state is not None and state.batches else None

    def expire(self, before_ms: int) -> None:
        """Forget producers that wrote nothing since that wall clock time (producer.id.expiration.ms), but for who is in a transaction."""
        old = [producer_id for producer_id, state in self._states.items() if state.seen < before_ms]
        for producer_id in old:
            if self.open_from(producer_id) is None:
                del self._states[producer_id]
        self._attempts = {producer_id: each for producer_id, each in self._attempts.items() if each.seen >= before_ms}


def _written_before(batch: Batch, state: ProducerState) -> Written | None:
    if batch.producer_epoch != state.epoch:
        return None
    wanted = batch.base_sequence, batch.last_sequence
    return next((written for written in state.batches if (written.first_sequence, written.last_sequence) == wanted), None)


def _in_order(batch: Batch, expected: int) -> None:
    if batch.base_sequence != expected:
        raise RecordsError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, f"sequence {batch.base_sequence} of producer {batch.producer_id}, {expected} was due"
        )
