"""Stores what a coordinator knows of one transactional id, in memory and in its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from .states import PREPARED, State

if TYPE_CHECKING:
    from ..turn import Turn
    from .causes import Why

NONE: Final = -1
LAST_EPOCH: Final = 32_766
"""The largest epoch that a producer gets; the next one is for the marker that ends its transaction
(TransactionMetadata.isEpochExhausted)."""

At = tuple[str, int]


class Holder(NamedTuple):
    producer_id: int
    epoch: int


class TransactionalId(msgspec.Struct, eq=False):
    """The state of one transactional id. Times are ms since 1970.

    `started_ms` is -1 if there was no transaction since InitProducerId. `last_epoch` is the previous epoch, if its producer may still use
    it, because the answer with the current epoch may be lost. `previous_id` and `next_id` are the producer ids before and after the current
    one when epochs are used up. `partitions` are those of the open transaction, and while it ends, those without a marker; a group is
    represented by its partition of __consumer_offsets. `fencing` is true if the id must do the work of a newer producer's second
    InitProducerId after the end. `stuck` is true if a change could not be logged (`levels`): as in Kafka, nothing else changes until
    another coordinator loads the id."""

    name: str
    partition: int
    producer_id: int
    timeout_ms: int
    changed_ms: int
    epoch: int = 0
    state: State = State.EMPTY
    last_epoch: int = NONE
    previous_id: int = NONE
    next_id: int = NONE
    started_ms: int = NONE
    partitions: dict[At, None] = msgspec.field(default_factory=dict)
    marked: int = 0
    fencing: bool = False
    stuck: bool = False

    @property
    def busy(self) -> bool:
        """True while the id is in a transition, during which other changes get CONCURRENT_TRANSACTIONS (51)."""
        return self.stuck or self.state in PREPARED

    @property
    def exhausted(self) -> bool:
        """True if the producer id has no epoch left."""
        return self.epoch >= LAST_EPOCH

    def may_be(self, own: Holder) -> bool:
        """True if `own` can be the id's current or previous producer (TransactionCoordinator.prepareInitProducerIdTransit); its epoch is
        checked later."""
        return own.producer_id == self.producer_id or (own.producer_id == self.previous_id and own.epoch >= LAST_EPOCH)

    def rotate(self, producer_id: int, last_epoch: int) -> None:
        """Change to another producer id, whose first epoch is 0."""
        self.previous_id, self.producer_id = self.producer_id, producer_id
        self.last_epoch, self.epoch, self.next_id = last_epoch, 0, NONE

    def bump(self, last_epoch: int) -> None:
        self.last_epoch = last_epoch
        self.epoch += 1

    def note(self, turn: Turn, what: str, why: Why, **more: str) -> None:
        """Write a journal row about the transactional id."""
        fields = {"transactional_id": self.name, "producer_id": self.producer_id, "producer_epoch": self.epoch}
        turn.note(what, **fields, **more, cause=why.cause, reason=why.sentence)
