"""A transactional id is a state machine, and its state decides the result of EndTxn.

A transactional id is a name that outlives its process. A producer that starts with it (InitProducerId) gets a producer id and an epoch. The
next producer gets the same producer id and a higher epoch, and the old one is fenced: every log or coordinator that has seen an epoch
refuses lower ones from then on. This alone prevents a process that seemed dead from writing twice.

    Empty           no transaction was begun since the producer's InitProducerId
    Ongoing         a partition or a group was added; the timeout counts from the first one
    PrepareCommit   the end is decided and logged, and cannot be undone. Markers are being written to the partitions
    PrepareAbort    the same for an abort: the producer's own, that of a newer producer (fencing), or of the coordinator (timeout)
    CompleteCommit  every partition has its marker. The next transaction may begin
    CompleteAbort   the same after an abort

EndTxn is answered at Prepare*, before the markers are written. A request that comes too early is answered CONCURRENT_TRANSACTIONS (51) and
has to be repeated.

Old and new clients (KIP-890). Up to v4 a producer keeps its epoch over all its transactions. From v5 on EndTxn returns the epoch of the
next transaction, and the markers have it too, so that a delayed batch cannot get into the wrong transaction. Hence the two tables. A new
client whose answer was lost repeats the request with the former epoch (`RETRIED`). It may abort a transaction that it never began, which
gives it a new epoch. In Kafka: TransactionCoordinator.endTransaction, TransactionMetadata.

Epochs end at 32766. Then the id gets another producer id and begins at 0 (32767 is for the marker that ends the last transaction).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class State(StrEnum):
    """The states of a transactional id, with the names that DescribeTransactions shows."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"


PREPARED: Final = frozenset((State.PREPARE_COMMIT, State.PREPARE_ABORT))
IDLE: Final = frozenset((State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT))
"""The states without a transaction, in which the id itself may expire."""
COMPLETED: Final = {State.PREPARE_COMMIT: State.COMPLETE_COMMIT, State.PREPARE_ABORT: State.COMPLETE_ABORT}
NAMES: Final = frozenset((*State, "Dead", "PrepareEpochFence"))
"""The states that ListTransactions accepts in its filter, though no id is ever in one of the last two."""


class End(StrEnum):
    """The results of EndTxn, which OLD, NEW and RETRIED list by state."""

    DECIDE = "decide"
    DONE = "done"  # The transaction has already ended in the requested way, so EndTxn succeeds.
    NEVER = "never"  # EndTxn is answered INVALID_TXN_STATE (48).
    WAIT = "wait"  # EndTxn is answered CONCURRENT_TRANSACTIONS (51).
    FENCED = "fenced"  # EndTxn is answered PRODUCER_FENCED (90), or INVALID_PRODUCER_EPOCH (47) in a version that does not know error 90.


_WAITS: Final = {(state, committed): End.WAIT for state in PREPARED for committed in (True, False)}
_DECIDES: Final = {(State.ONGOING, committed): End.DECIDE for committed in (True, False)}

OLD: Final[Mapping[tuple[State, bool], End]] = {
    **_WAITS,
    **_DECIDES,
    (State.EMPTY, True): End.NEVER,
    (State.EMPTY, False): End.NEVER,
    (State.COMPLETE_COMMIT, True): End.DONE,
    (State.COMPLETE_COMMIT, False): End.NEVER,
    (State.COMPLETE_ABORT, True): End.NEVER,
    (State.COMPLETE_ABORT, False): End.DONE,
}
"""The result of EndTxn v0 to v4 by state and whether it is a commit (TX-50)."""
NEW: Final[Mapping[tuple[State, bool], End]] = {
    **_WAITS,
    **_DECIDES,
    (State.EMPTY, True): End.NEVER,
    (State.EMPTY, False): End.DECIDE,
    (State.COMPLETE_COMMIT, True): End.NEVER,
    (State.COMPLETE_COMMIT, False): End.DECIDE,
    (State.COMPLETE_ABORT, True): End.NEVER,
    (State.COMPLETE_ABORT, False): End.DECIDE,
}
"""The result of EndTxn v5 with the current epoch, by state and whether it is a commit (TX-52)."""
RETRIED: Final[Mapping[tuple[State, bool], End]] = {
    **_WAITS,
    **{(state, committed): End.FENCED for state in (State.EMPTY, State.ONGOING) for committed in (True, False)},
    (State.COMPLETE_COMMIT, True): End.DONE,
    (State.COMPLETE_COMMIT, False): End.NEVER,
    (State.COMPLETE_ABORT, True): End.NEVER,
    (State.COMPLETE_ABORT, False): End.DONE,
}
"""The result of EndTxn v5 with the previous epoch, by state and whether it is a commit (TX-53)."""
