"""What a partition remembers of idempotent producers: the last five batches of each, so that a retry is not written twice (KIP-98)."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

import msgspec

from groupmock_codec.errors import ErrorCode
from groupmock_codec.records import Batch, RecordsError, next_sequence

# An idempotent producer has five requests under way at most (ProducerStateEntry.NUM_BATCHES_TO_RETAIN)
REMEMBERED: Final = 5


class Written(NamedTuple):
    """One batch that was appended. `timestamp` is the batch's largest, what Kafka reports for a duplicate."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class ProducerState(msgspec.Struct):
    """One producer id at one partition. `seen`: wall clock (ms) of its last append, for expiry."""

    epoch: int
    seen: int
    batches: deque[Written]


class ProducerStates:
    """All producers of one partition."""

    def __init__(self) -> None:
        self._states: dict[int, ProducerState] = {}

    def __len__(self) -> int:
        return len(self._states)

    def check(self, batch: Batch) -> Written | None:
        """The earlier append that this batch repeats, None if it is new and in sequence.

        Raises INVALID_PRODUCER_EPOCH for an older epoch, OUT_OF_ORDER_SEQUENCE_NUMBER for a gap. A producer id that the partition
        does not know (expired, or its records deleted) may begin with any sequence, as in Kafka since KIP-360.
        """
        state = self._states.get(batch.producer_id)
        if state is None:
            return None
        if batch.producer_epoch < state.epoch:
            raise RecordsError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"epoch {batch.producer_epoch} of producer {batch.producer_id}, the last seen is {state.epoch}",
            )
        if batch.producer_epoch > state.epoch:
            # A bumped epoch counts from 0 again (KIP-360; ProducerAppendInfo.checkSequence)
            _in_order(batch, 0)
            return None
        # Before the order: a retry lies behind the last sequence and would be refused as out of order
        for written in state.batches:
            if (written.first_sequence, written.last_sequence) == (batch.base_sequence, batch.last_sequence):
                return written
        if state.batches:
            _in_order(batch, next_sequence(state.batches[-1].last_sequence))
        return None

    def wrote(self, batch: Batch, wall_ms: int) -> None:
        """Remember an appended batch (`batch` has its offsets in the log)."""
        state = self._states.get(batch.producer_id)
        # Batches of the old epoch are forgotten: the new one's sequences begin at 0 and would be taken for repetitions
        if state is None or state.epoch != batch.producer_epoch:
            state = self._states[batch.producer_id] = ProducerState(batch.producer_epoch, wall_ms, deque(maxlen=REMEMBERED))
        state.seen = wall_ms
        state.batches.append(Written(batch.base_sequence, batch.last_sequence, batch.base_offset, batch.last_offset, batch.max_timestamp))

    def last_offset(self, producer_id: int) -> int | None:
        """Where the producer's last batch ends; None: the partition does not remember it."""
        state = self._states.get(producer_id)
        return state.batches[-1].last_offset if state is not None and state.batches else None

    def expire(self, before_ms: int) -> None:
        """Forget producers that wrote nothing since that wall clock time (producer.id.expiration.ms)."""
        for producer_id in [producer_id for producer_id, state in self._states.items() if state.seen < before_ms]:
            del self._states[producer_id]


def _in_order(batch: Batch, expected: int) -> None:
    if batch.base_sequence != expected:
        raise RecordsError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, f"sequence {batch.base_sequence} of producer {batch.producer_id}, {expected} was due"
        )
