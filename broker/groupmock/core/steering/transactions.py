"""Steering a transactional id: abort what is open, fence who has it, forget it, keep the end of its transactions from its readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..transactions import causes
from ..transactions.states import IDLE, PREPARED, State
from .find import transactional_id_of
from .holds import holds_of
from .register import Arguments, NotNow, TransactionalIdName, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..transactions.transactional_id import TransactionalId
    from ..turn import Turn


def _steered(cluster: Cluster, name: str) -> TransactionalId:
    """The id; NotNow where it hangs."""
    known = transactional_id_of(cluster, name)
    if known.stuck:
        raise NotNow(f"transactional id {name!r} hangs in a change that could not be logged: nothing more happens before it is loaded anew")
    return known


class AbortTransaction(Arguments):
    """Abort the open transaction of an id now, as the coordinator does when its transaction.timeout.ms is over: its producer is fenced."""

    transactional_id: TransactionalIdName


@steers("abort_transaction", AbortTransaction)
def abort_transaction(cluster: Cluster, arguments: AbortTransaction, turn: Turn) -> None:
    """TX-92: the epoch is bumped, and the markers carry the new one."""
    known = _steered(cluster, arguments.transactional_id)
    if known.state is not State.ONGOING:
        raise NotNow(f"transactional id {known.name!r} is {known.state}: there is a transaction to abort in {State.ONGOING} only")
    cluster.transactions.abort(turn, known, causes.ABORT_ORDERED)
    cluster.transactions.settle(turn)


class FenceTransaction(Arguments):
    """Take a transactional id from its producer, as a newer one does by InitProducerId: an open transaction is aborted, and what the old
    producer asks from then on is refused (PRODUCER_FENCED, INVALID_PRODUCER_EPOCH). Nobody speaks for the new epoch."""

    transactional_id: TransactionalIdName


@steers("fence_transaction", FenceTransaction)
def fence_transaction(cluster: Cluster, arguments: FenceTransaction, turn: Turn) -> None:
    """While markers are under way a newer producer is told to wait (51), and so is who says this."""
    known = _steered(cluster, arguments.transactional_id)
    if known.state in PREPARED:
        raise NotNow(f"transactional id {known.name!r} is {known.state}: it can be fenced once its markers are written")
    cluster.transactions.fence(turn, known)
    cluster.transactions.settle(turn)


class ExpireTransactionalId(Arguments):
    """Forget a transactional id now, as if nobody had used it for transactional.id.expiration.ms: its producer is told
    INVALID_PRODUCER_ID_MAPPING, and the next one to come gets another producer id."""

    transactional_id: TransactionalIdName


@steers("expire_transactional_id", ExpireTransactionalId)
def expire_transactional_id(cluster: Cluster, arguments: ExpireTransactionalId, turn: Turn) -> None:
    """TX-93: an id with a transaction does not expire."""
    known = _steered(cluster, arguments.transactional_id)
    if known.state not in IDLE:
        raise NotNow(f"transactional id {known.name!r} is {known.state}: it can expire once its transaction is over")
    cluster.transactions.forget(turn, known, causes.EXPIRY_ORDERED)


class HoldMarkers(Arguments):
    """Write no markers for a transactional id until they are released: how a transaction ends is decided and answered, and its readers do
    not see it; who asks the next thing is told CONCURRENT_TRANSACTIONS. The id need not exist yet."""

    transactional_id: TransactionalIdName


@steers("hold_markers", HoldMarkers)
def hold_markers(cluster: Cluster, arguments: HoldMarkers, turn: Turn) -> None:
    """Twice is once."""
    holds_of(cluster).markers.add(arguments.transactional_id)


class ReleaseMarkers(Arguments):
    """Let the markers of a transactional id go: those that waited are written now. Harmless for one that is not held."""

    transactional_id: TransactionalIdName


@steers("release_markers", ReleaseMarkers)
def release_markers(cluster: Cluster, arguments: ReleaseMarkers, turn: Turn) -> None:
    """An id that nobody holds must at least exist."""
    holds, name = holds_of(cluster), arguments.transactional_id
    if name not in holds.markers:
        transactional_id_of(cluster, name)
    holds.markers.discard(name)
    cluster.transactions.release(turn, name)
