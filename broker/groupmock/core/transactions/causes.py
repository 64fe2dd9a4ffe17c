"""The causes why a transactional id changed, or a producer was refused: a word for programs and a sentence for people.

Notes `transaction_moved` and `producer_fenced` have them as `cause` and `reason`. The words are a closed set, as those of groups are
(core.groups.causes).
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec

Cause = Literal[
    # a producer comes
    "id_created",
    "producer_came",
    "producer_went_on",
    "epochs_ended",
    # a transaction
    "partitions_added",
    "group_added",
    "committed",
    "aborted",
    "producer_replaced",
    "timed_out",
    "not_logged",
    "markers_held",
    "markers_written",
    # the id is removed
    "id_expired",
    "coordinator_left",
    "coordinator_loaded",
    # a producer is refused
    "fenced",
    # an operator steers (core.steering.transactions)
    "abort_ordered",
    "fence_ordered",
    "expiry_ordered",
]
CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)


class Why(msgspec.Struct, frozen=True, gc=False):
    cause: Cause
    sentence: str


def _client(client_id: str | None) -> str:
    return f"client {client_id or ''!r}"


def id_created(client_id: str | None) -> Why:
    return Why("id_created", f"{_client(client_id)} is the first with this transactional id")


def producer_came(client_id: str | None, epoch: int) -> Why:
    """A newer producer fences the one before; `epoch` is the epoch of the one before."""
    return Why("producer_came", f"{_client(client_id)} came with this transactional id: whoever has epoch {epoch} or less is fenced")


def producer_went_on(client_id: str | None) -> Why:
    """The producer that has the id wants a fresh epoch after an error (KIP-360)."""
    return Why("producer_went_on", f"{_client(client_id)} goes on under this transactional id with a fresh epoch")


def epochs_ended(producer_id: int) -> Why:
    """The id goes on with another producer id, because its epochs are used up."""
    return Why("epochs_ended", f"the epochs of producer {producer_id} are used up: another producer id follows")


def partitions_added(count: int) -> Why:
    """A transaction began by AddPartitionsToTxn, or by a Produce that adds on the way (KIP-890)."""
    return Why("partitions_added", f"the transaction began with {count} partition{'' if count == 1 else 's'}")


def group_added(group_id: str) -> Why:
    """A transaction began by AddOffsetsToTxn, or by a TxnOffsetCommit that adds on the way (KIP-890)."""
    return Why("group_added", f"the transaction began with offsets of group {group_id!r}")


def ended(committed: bool, client_id: str | None) -> Why:
    return Why("committed" if committed else "aborted", f"{_client(client_id)} {'commits' if committed else 'aborts'} the transaction")


def producer_replaced(client_id: str | None) -> Why:
    """A newer producer came while a transaction was open."""
    return Why("producer_replaced", f"{_client(client_id)} came with this transactional id: the open transaction is aborted")


def timed_out(timeout_ms: int) -> Why:
    """The producer's transaction.timeout.ms is over."""
    return Why("timed_out", f"the transaction was open for more than {timeout_ms} ms")


NOT_LOGGED: Final = Why("not_logged", "transaction.version is 0, at which a new client's change cannot be logged: the id hangs")


def markers_held(count: int) -> Why:
    """An operator holds the markers back, so that readers do not see the end."""
    return Why("markers_held", f"markers of {count} partition{'' if count == 1 else 's'} are held back until they are released")


def markers_written(count: int) -> Why:
    """The markers are written: every read_committed reader may see the end."""
    return Why("markers_written", f"markers are in {count} partition{'' if count == 1 else 's'}")


def id_expired(after_ms: int) -> Why:
    """The id was unused for transactional.id.expiration.ms."""
    return Why("id_expired", f"nobody used this transactional id for {after_ms} ms")


ABORT_ORDERED: Final = Why("abort_ordered", "the coordinator was told to abort the transaction, as if its time were over")
FENCE_ORDERED: Final = Why("fence_ordered", "the coordinator was told to fence whoever has this id, as if a newer producer had come")
EXPIRY_ORDERED: Final = Why("expiry_ordered", "the coordinator was told to forget this transactional id, as if nobody had used it for long")


def coordinator_left(partition: int, node: int | None) -> Why:
    """The coordinator lost the partition, and the id lives on in the log alone."""
    return Why("coordinator_left", f"partition {partition} of __transaction_state left node {node}")


def coordinator_loaded(partition: int, node: int | None) -> Why:
    """The coordinator has read the id from the log of __transaction_state."""
    return Why("coordinator_loaded", f"node {node} loaded partition {partition} of __transaction_state")


def fenced(producer_id: int, epoch: int, current: int) -> Why:
    """A producer asked that does not have the id any more."""
    if epoch > current:
        return Why("fenced", f"producer {producer_id} says epoch {epoch}, which it never got: {current} is the current one")
    # A newer producer raises the epoch, and so does an abort by the coordinator.
    return Why("fenced", f"producer {producer_id} (epoch {epoch}) is fenced: its transactional id is at epoch {current}")
