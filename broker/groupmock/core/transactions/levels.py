"""The feature level transaction.version decides which transaction protocol the cluster and its clients use (KIP-890, KIP-1022).
UpdateFeatures changes it.

    2   clients that see it in ApiVersions may speak as new ones: EndTxn v5, Produce v12, TxnOffsetCommit v5. An abort without its producer
        leaves it who it was, so that it may go on (TX-23)
    1   requests of new clients are answered all the same; whose transaction was aborted is fenced for good, as before KIP-890
    0   the same, but the log of transactional ids has no room for what a new client's requests change: they are told 35, and the id is lost
        to everybody until another coordinator loads it (TX-03)

What is offered in ApiVersions does not depend on it (TX-02). A release that does not know it is told apart by `Quirks`. In Kafka:
TransactionVersion, TransactionLog.valueToBytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..turn import Turn

FEATURE: Final = "transaction.version"
NEWEST: Final = 2


def keeps_the_aborted(turn: Turn) -> bool:
    """True if a producer whose transaction the coordinator aborted may continue with its transactional id."""
    level = turn.environment.levels.get(FEATURE)
    return not turn.quirks.fenced_epoch_forgotten if level is None else level >= NEWEST


def logs_new_clients(turn: Turn) -> bool:
    """True if changes that a new client requests can be logged."""
    return turn.environment.levels.get(FEATURE) != 0
