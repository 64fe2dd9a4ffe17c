"""Each change of a transactional id, and each refused producer, has a cause: a fixed word for programs, and a sentence for people.

Notes `transaction_moved` and `producer_fenced` have them as `cause` and `reason`. The words are a closed set, as those of groups are
(core.groups.causes).
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec

Cause = Literal[
    "id_created",
    "producer_came",
    "producer_went_on",
    "epochs_ended",
    "partitions_added",
    "group_added",
    "committed",
    "aborted",
    "producer_replaced",
    "timed_out",
    "not_logged",
    "markers_held",
    "markers_written",
    "id_expired",
    "coordinator_left",
    "coordinator_loaded",
    "fenced",
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
    """Return the cause for a new producer that fences the former one; `epoch` is the epoch of the former producer."""
    return Why("producer_came", f"{_client(client_id)} came with this transactional id: whoever has epoch {epoch} or less is fenced")


def producer_went_on(client_id: str | None) -> Why:
    """Return the cause for a producer that gets a fresh epoch after an error (KIP-360)."""
    return Why("producer_went_on", f"{_client(client_id)} goes on under this transactional id with a fresh epoch")


def epochs_ended(producer_id: int) -> Why:
    """Return the cause for a new producer id, because the epochs of the old one are used up."""
    return Why("epochs_ended", f"the epochs of producer {producer_id} are used up: another producer id follows")


def partitions_added(count: int) -> Why:
    """Return the cause for a transaction that began with AddPartitionsToTxn, or with a Produce that adds its partition (KIP-890)."""
    return Why("partitions_added", f"the transaction began with {count} partition{'' if count == 1 else 's'}")


def group_added(group_id: str) -> Why:
    """Return the cause for a transaction that began with AddOffsetsToTxn, or with a TxnOffsetCommit that adds its partition (KIP-890)."""
    return Why("group_added", f"the transaction began with offsets of group {group_id!r}")


def ended(committed: bool, client_id: str | None) -> Why:
    return Why("committed" if committed else "aborted", f"{_client(client_id)} {'commits' if committed else 'aborts'} the transaction")


def producer_replaced(client_id: str | None) -> Why:
    """Return the cause for an open transaction that is aborted because a newer producer has come."""
    return Why("producer_replaced", f"{_client(client_id)} came with this transactional id: the open transaction is aborted")


def timed_out(timeout_ms: int) -> Why:
    """Return the cause for a transaction that was open longer than its transaction.timeout.ms."""
    return Why("timed_out", f"the transaction was open for more than {timeout_ms} ms")


NOT_LOGGED: Final = Why("not_logged", "transaction.version is 0, at which a new client's change cannot be logged: the id hangs")


def markers_held(count: int) -> Why:
    """Return the cause for a transaction whose markers a command holds back, so that consumers do not see its end."""
    return Why("markers_held", f"markers of {count} partition{'' if count == 1 else 's'} are held back until they are released")


def markers_written(count: int) -> Why:
    """Return the cause for a transaction whose markers are all written, so that every read_committed consumer may see its end."""
    return Why("markers_written", f"markers are in {count} partition{'' if count == 1 else 's'}")


def id_expired(after_ms: int) -> Why:
    """Return the cause for an id that was not used for transactional.id.expiration.ms."""
    return Why("id_expired", f"nobody used this transactional id for {after_ms} ms")


ABORT_ORDERED: Final = Why("abort_ordered", "the coordinator was told to abort the transaction, as if its time were over")
FENCE_ORDERED: Final = Why("fence_ordered", "the coordinator was told to fence whoever has this id, as if a newer producer had come")
EXPIRY_ORDERED: Final = Why("expiry_ordered", "the coordinator was told to forget this transactional id, as if nobody had used it for long")


def coordinator_left(partition: int, node: int | None) -> Why:
    """Return the cause for an id whose coordinator lost the partition, so that the id exists in the log only."""
    return Why("coordinator_left", f"partition {partition} of __transaction_state left node {node}")


def coordinator_loaded(partition: int, node: int | None) -> Why:
    """Return the cause for an id that its coordinator has loaded from the log of __transaction_state."""
    return Why("coordinator_loaded", f"node {node} loaded partition {partition} of __transaction_state")


def fenced(producer_id: int, epoch: int, current: int) -> Why:
    """Return the cause for refusing a producer that no longer has the transactional id."""
    if epoch > current:
        return Why("fenced", f"producer {producer_id} says epoch {epoch}, which it never got: {current} is the current one")
    # Both a newer producer and an abort by the coordinator raise the epoch.
    return Why("fenced", f"producer {producer_id} (epoch {epoch}) is fenced: its transactional id is at epoch {current}")
