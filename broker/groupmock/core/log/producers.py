"""A partition remembers its producers: their last five batches, so that a retry is not written twice (KIP-98), their epoch, so that a
fenced producer cannot write, and the coordinator that ended their last transaction."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from groupmock_codec import error_codes
from groupmock_codec.markers import marker_of
from groupmock_codec.records import Batch, RecordsError, next_sequence

from .transactions import LogTransactions, Marker

# An idempotent producer has at most five requests in flight (ProducerStateEntry.NUM_BATCHES_TO_RETAIN).
REMEMBERED: Final = 5
NO_SEQUENCE: Final = -1
MOST_TRIED: Final = 1_000
"""The largest number of refused attempts to begin a transaction that a partition remembers, because retention does not remove them."""
NO_COORDINATOR: Final = -1
NO_EPOCH: Final = -1


class Origin(StrEnum):
    """The origin of a batch, which decides what is checked (Kafka's AppendOrigin)."""

    CLIENT = "client"
    COORDINATOR = "a coordinator, whose batches have no order of their own"


class Written(msgspec.Struct, gc=False, frozen=True):
    """One batch that a producer has appended. `timestamp` is the batch's largest, which Kafka reports for a duplicate."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class ProducerState(msgspec.Struct, gc=False):
    """The state of one producer id in one partition. `seen` is the wall clock (ms) of its last append, for expiry. `timestamp` is that
    of its last batch or marker, and `coordinator_epoch` that of the coordinator which ended its last transaction here."""

    epoch: int
    seen: int
    batches: tuple[Written, ...] = ()
    timestamp: int = -1
    coordinator_epoch: int = NO_COORDINATOR

    @property
    def last_sequence(self) -> int:
        """Return the last sequence number of the current epoch, or -1 if the epoch has no batch yet."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


class Tried(msgspec.Struct, gc=False):
    """A producer's attempt to begin a transaction, remembered until one of its batches or its marker is written. `lowest` is the lowest
    first sequence in that epoch. `new` is True if the first attempt was a new client's Produce (KIP-890)."""

    lowest: int
    epoch: int
    seen: int
    new: bool


class ProducerStates:
    """All producers of one partition, and their open transactions there."""

    def __init__(self) -> None:
        self._states: dict[int, ProducerState] = {}
        self._tried: dict[int, Tried] = {}
        self.transactions: LogTransactions | None = None
        """The transactions of this partition, or None before its first transactional batch."""

    def __len__(self) -> int:
        return len(self._states)

    def all(self) -> dict[int, ProducerState]:
        """Return the state of all producers by producer id."""
        return self._states

    def in_transaction(self, producer_id: int, epoch: int, any_epoch: bool = False) -> bool:
        """True if the producer has an open transaction in this partition, so that its batches need no verification (KIP-890). With
        `any_epoch`, its epoch does not matter, as in 3.9 (UnifiedLog.hasOngoingTransaction)."""
        state = self._states.get(producer_id)
        return state is not None and (any_epoch or state.epoch == epoch) and self.open_from(producer_id) is not None

    def is_fenced(self, producer_id: int, epoch: int) -> bool:
        """True if a higher epoch of the producer has written to this partition, or has ended a transaction in it."""
        state = self._states.get(producer_id)
        return state is not None and epoch < state.epoch

    def open_from(self, producer_id: int) -> int | None:
        """Return the first offset of the producer's open transaction in this partition, or None if there is none."""
        return None if self.transactions is None else self.transactions.open_from(producer_id)

    def tries(self, batch: Batch, wall_ms: int, new: bool) -> None:
        """Remember a batch that will be the first of a transaction in this partition, if the coordinator allows it. If it fails, no
        later batch may overtake it (VerificationStateEntry)."""
        tried = self._tried.get(batch.producer_id)
        if tried is None:
            if len(self._tried) >= MOST_TRIED:
                del self._tried[next(iter(self._tried))]
            self._tried[batch.producer_id] = Tried(batch.base_sequence, batch.producer_epoch, wall_ms, new)
        elif batch.producer_epoch > tried.epoch:
            tried.epoch, tried.lowest = batch.producer_epoch, batch.base_sequence
        elif batch.producer_epoch == tried.epoch:
            tried.lowest = min(tried.lowest, batch.base_sequence)

    def check(self, batch: Batch, origin: Origin = Origin.CLIENT) -> Written | None:
        """Return the earlier append that this batch repeats, or None if the batch is new and in sequence.

        Raises INVALID_PRODUCER_EPOCH for an older epoch, OUT_OF_ORDER_SEQUENCE_NUMBER for a gap, INVALID_TXN_STATE for a plain batch
        inside a transaction. A producer id that the partition does not know (expired, or its records deleted) may begin with any sequence,
        as in Kafka since KIP-360. For a coordinator's batch only the epoch is checked."""
        state = self._states.get(batch.producer_id)
        if state is not None and batch.producer_epoch < state.epoch:
            raise RecordsError(
                error_codes.INVALID_PRODUCER_EPOCH,
                f"epoch {batch.producer_epoch} of producer {batch.producer_id}, the last seen is {state.epoch}",
            )
        if origin is Origin.COORDINATOR:
            return None
        # Duplicates are found before the sequence check, which would refuse a retry as out of order.
        for written in state.batches if state is not None and state.epoch == batch.producer_epoch else ():
            if (written.first_sequence, written.last_sequence) == (batch.base_sequence, batch.last_sequence):
                return written
        self._in_turn(batch, state)
        if not batch.transactional and self.open_from(batch.producer_id) is not None:
            raise RecordsError(error_codes.INVALID_TXN_STATE, f"producer {batch.producer_id} is in the midst of a transaction")
        return None

    def _in_turn(self, batch: Batch, state: ProducerState | None) -> None:
        """Check the sequence number of a batch (ProducerAppendInfo.checkSequence). The epoch -1, which no producer has, counts as none."""
        tried = self._tried.get(batch.producer_id)
        if tried is not None and tried.new and (state is None or not state.batches):
            # A new client begins a transaction with a fresh epoch (KIP-890), so its first sequence must be 0, even if the partition has no
            # batch of it yet.
            _in_order(batch, 0)
        if tried is not None and batch.base_sequence > tried.lowest:
            _in_order(batch, tried.lowest)
        if state is not None and state.epoch != NO_EPOCH:
            # After an epoch bump, sequences start from 0 again (KIP-360).
            _in_order(batch, 0 if batch.producer_epoch > state.epoch else next_sequence(state.last_sequence))

    def wrote(self, batch: Batch, wall_ms: int) -> None:
        """Remember an appended batch, whose offsets are those in the log."""
        state = self._states.get(batch.producer_id)
        # Batches of the old epoch are forgotten, because the new epoch's sequences begin at 0 and would look like repetitions.
        if state is None or state.epoch != batch.producer_epoch:
            state = self._entered(batch.producer_id, batch.producer_epoch, wall_ms, state)
        state.seen, state.timestamp = wall_ms, batch.max_timestamp
        written = Written(batch.base_sequence, batch.last_sequence, batch.base_offset, batch.last_offset, batch.max_timestamp)
        state.batches = (*state.batches[1 - REMEMBERED :], written)
        if batch.transactional:
            self._tried.pop(batch.producer_id, None)
            if self.transactions is None:
                self.transactions = LogTransactions()
            self.transactions.began(batch.producer_id, batch.base_offset)

    def check_marker(self, marker: Marker) -> None:
        """Refuse a marker of an outdated producer or coordinator epoch (ProducerAppendInfo). Raises INVALID_PRODUCER_EPOCH,
        TRANSACTION_COORDINATOR_FENCED."""
        state = self._states.get(marker.producer_id)
        if state is None:
            return
        if marker.producer_epoch < state.epoch:
            raise RecordsError(error_codes.INVALID_PRODUCER_EPOCH, f"a marker of epoch {marker.producer_epoch}, the last is {state.epoch}")
        if marker.coordinator_epoch < state.coordinator_epoch:
            raise RecordsError(
                error_codes.TRANSACTION_COORDINATOR_FENCED,
                f"a coordinator of epoch {marker.coordinator_epoch}, the last is {state.coordinator_epoch}",
            )

    def marked(self, marker: Marker, offset: int, wall_ms: int) -> None:
        """Record that a marker was written: it ends the producer's transaction and sets the producer's epoch."""
        state = self._states.get(marker.producer_id)
        if state is None or state.epoch != marker.producer_epoch:
            state = self._entered(marker.producer_id, marker.producer_epoch, wall_ms, state)
        state.seen = state.timestamp = wall_ms
        state.coordinator_epoch = marker.coordinator_epoch
        tried = self._tried.get(marker.producer_id)
        # The next transaction of a new client has another epoch, so an attempt of this epoch belongs to the transaction that ended
        # (UnifiedLog.updateProducers).
        if tried is not None and not (tried.new and tried.epoch == marker.producer_epoch):
            del self._tried[marker.producer_id]
        if self.transactions is not None:
            self.transactions.ended(marker, offset)

    def _entered(self, producer_id: int, epoch: int, wall_ms: int, before: ProducerState | None) -> ProducerState:
        coordinator = NO_COORDINATOR if before is None else before.coordinator_epoch
        state = ProducerState(epoch, wall_ms, coordinator_epoch=coordinator)
        self._states[producer_id] = state
        return state

    def last_offset(self, producer_id: int) -> int | None:
        """Return the last offset of the producer's last batch, or None if the partition does not remember the producer."""
        state = self._states.get(producer_id)
        return state.batches[-1].last_offset if state is not None and state.batches else None

    def reload(self, batches: list[Batch]) -> None:
        """Rebuild the state of all producers from the batches of a log that was truncated (ProducerStateManager.truncateAndReload). A
        transaction whose marker was lost is open again."""
        before, self._states, self._tried, self.transactions = self._states, {}, {}, None
        for batch in batches:
            if batch.control:
                coordinator = before[batch.producer_id].coordinator_epoch if batch.producer_id in before else NO_COORDINATOR
                marker = Marker(batch.producer_id, batch.producer_epoch, bool(marker_of(batch)), coordinator)
                self.marked(marker, batch.base_offset, batch.max_timestamp)
            elif batch.producer_id >= 0:
                self.wrote(batch, batch.max_timestamp)

    def expire(self, before_ms: int) -> None:
        """Forget producers that have not written since `before_ms` (producer.id.expiration.ms), except those with an open transaction."""
        old = [producer_id for producer_id, state in self._states.items() if state.seen < before_ms]
        for producer_id in old:
            if self.open_from(producer_id) is None:
                del self._states[producer_id]
        for producer_id in [each for each, tried in self._tried.items() if tried.seen < before_ms]:
            del self._tried[producer_id]


def _in_order(batch: Batch, expected: int) -> None:
    if batch.base_sequence != expected:
        raise RecordsError(
            error_codes.OUT_OF_ORDER_SEQUENCE_NUMBER, f"sequence {batch.base_sequence} of producer {batch.producer_id}, {expected} was due"
        )
