"""Read facts about transactional ids from their coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..core.transactions.states import IDLE
from ..core.transactions.transactional_id import NONE

if TYPE_CHECKING:
    from ..core.cluster import Cluster
    from ..core.transactions.transactional_id import TransactionalId


class TransactionRow(msgspec.Struct, frozen=True):
    """A transactional id in one row. `state` is that of DescribeTransactions; `coordinator` is its node; `started_ms` is the start of
    its last transaction (ms since 1970), null before the first; `partitions` counts those of the open transaction, or those still
    without a marker while it ends; `open_ms` is how long the transaction has been open, null without one; `held`: its markers are held
    back."""

    transactional_id: str
    state: str
    producer_id: int
    epoch: int
    coordinator: int | None
    timeout_ms: int
    started_ms: int | None
    partitions: int
    open_ms: int | None
    held: bool


class TransactionDetails(msgspec.Struct, frozen=True):
    """A transactional id with its open transaction and its story. `partitions` is topic -> partitions; `groups` are those whose offsets
    wait for the end of the transaction."""

    transaction: TransactionRow
    partitions: dict[str, list[int]]
    groups: list[str]
    story: list[str]


def transaction_row(cluster: Cluster, known: TransactionalId, wall_ms: int) -> TransactionRow:
    """Return the row of a transactional id; `wall_ms` is the present time."""
    return TransactionRow(
        known.name,
        str(known.state),
        known.producer_id,
        known.epoch,
        cluster.tenancy.hosting.node_of(known.name),
        known.timeout_ms,
        None if known.started_ms == NONE else known.started_ms,
        len(known.partitions),
        None if known.state in IDLE else wall_ms - known.started_ms,
        cluster.environment.holds.keeps_markers(known.name),
    )


def transaction_details(cluster: Cluster, known: TransactionalId, wall_ms: int, story: list[str]) -> TransactionDetails:
    """Return a transactional id with the partitions and groups of its transaction."""
    partitions: dict[str, list[int]] = {}
    for topic, partition in sorted(known.partitions):
        partitions.setdefault(topic, []).append(partition)
    groups = [] if known.state in IDLE else cluster.groups.in_transaction(known.producer_id)
    return TransactionDetails(transaction_row(cluster, known, wall_ms), partitions, groups, story)
