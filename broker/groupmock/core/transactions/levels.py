"""The feature level transaction.version decides which transaction protocol the cluster and its clients use (KIP-890, KIP-1022).
UpdateFeatures changes it.

    2   clients that see it in ApiVersions may use the new requests: EndTxn v5, Produce v12, TxnOffsetCommit v5. If the coordinator aborts a
        transaction, its producer keeps its identity and may go on (TX-23)
    1   requests of new clients are still answered, but a producer whose transaction was aborted is fenced for good, as before KIP-890
    0   like 1, but the log of transactional ids has no room for the changes that a new client requests: it gets UNSUPPORTED_VERSION (35),
        and nobody can use the id until another coordinator loads it (TX-03)

What ApiVersions offers does not depend on the level (TX-02). Releases without this feature are recognized by `Quirks`. In Kafka:
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
    """True if the coordinator can log changes that clients ask for with the new requests, such as EndTxn v5 (KIP-890)."""
    return turn.environment.levels.get(FEATURE) != 0
