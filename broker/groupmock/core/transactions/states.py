"""The states of a transactional id, and what EndTxn does in each.

A transactional id is a name that outlives its process. A producer that comes with it (InitProducerId) gets a producer id and an epoch; the
next producer with it gets the same producer id and a higher epoch, and the old one is fenced: everything that learned an epoch refuses a
lower one from then on. Only this keeps a process that was thought dead from writing twice.

    Empty           no transaction was begun since a producer came
    Ongoing         a partition or a group was added: the timeout counts from the first one
    PrepareCommit   the end is decided and logged, and cannot be undone. Markers are being written to the partitions
    PrepareAbort    the same for an abort: the producer's own, that of a newer producer (fencing), or of the coordinator (timeout)
    CompleteCommit  every partition has its marker. The next transaction may begin
    CompleteAbort   the same after an abort

EndTxn is answered at Prepare*, before the markers are written: a request that comes too early is answered with 51 and has to be repeated.

Old and new clients (KIP-890). Up to v4 a producer keeps its epoch over all its transactions. From v5 on EndTxn answers the epoch of the
next transaction, and the markers have it too, so that a batch that was delayed on its way cannot get into the wrong transaction. Hence the
two tables. A new client whose answer was lost asks again with the former epoch: `RETRIED`. It may abort what it never began, which gives
it a new epoch. In Kafka: TransactionCoordinator.endTransaction, TransactionMetadata.

Epochs end at 32766: then the id gets another producer id and begins at 0 (32767 is for the marker that ends the last transaction).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class State(StrEnum):
    """The states of a transactional id by the names of DescribeTransactions."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"


PREPARED: Final = frozenset((State.PREPARE_COMMIT, State.PREPARE_ABORT))
IDLE: Final = frozenset((State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT))
"""States without a transaction: nothing times out, and the id itself expires some day."""
COMPLETED: Final = {State.PREPARE_COMMIT: State.COMPLETE_COMMIT, State.PREPARE_ABORT: State.COMPLETE_ABORT}
NAMES: Final = frozenset((*State, "Dead", "PrepareEpochFence"))
"""The states that ListTransactions accepts as a filter. No id is ever shown in the last two."""


class End(StrEnum):
    """The outcomes of EndTxn, one for each state in the tables below."""

    DECIDE = "decide"
    DONE = "done"  # it was done as asked already: 0
    NEVER = "never"  # 48 (INVALID_TXN_STATE)
    WAIT = "wait"  # 51 (CONCURRENT_TRANSACTIONS)
    FENCED = "fenced"  # 90, or 47 for a version that does not know 90 yet


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
"""The outcome of EndTxn v0-4 by (state, is it a commit) (TX-50)."""
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
"""The outcome of EndTxn v5 with the current epoch (TX-52)."""
RETRIED: Final[Mapping[tuple[State, bool], End]] = {
    **_WAITS,
    **{(state, committed): End.FENCED for state in (State.EMPTY, State.ONGOING) for committed in (True, False)},
    (State.COMPLETE_COMMIT, True): End.DONE,
    (State.COMPLETE_COMMIT, False): End.NEVER,
    (State.COMPLETE_ABORT, True): End.NEVER,
    (State.COMPLETE_ABORT, False): End.DONE,
}
"""The outcome of EndTxn v5 with the epoch before the current one (TX-53)."""
