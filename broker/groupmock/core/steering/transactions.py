"""Commands for a transactional id abort its transaction, fence its producer, forget the id, hold back its markers, or move its
coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from ..transactions import causes
from ..transactions.states import IDLE, PREPARED, State
from .find import live_node, next_up, transactional_id_of
from .holds import holds_of
from .register import Arguments, Milliseconds, NodeId, NotNow, TransactionalIdName, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..transactions.transactional_id import TransactionalId
    from ..turn import Turn

RELEASE: Final = "markers_release"
"""The timer that ends holding back the markers of a transactional id."""


def _steered(cluster: Cluster, name: str) -> TransactionalId:
    """Return the transactional id, after checking that its last change could be logged. Raises NotNow if it is stuck."""
    known = transactional_id_of(cluster, name)
    if known.stuck:
        raise NotNow(f"transactional id {name!r} hangs in a change that could not be logged: nothing more happens before it is loaded anew")
    return known


class AbortTransaction(Arguments):
    """Abort the open transaction of an id now and fence its producer, as the coordinator does after transaction.timeout.ms."""

    transactional_id: TransactionalIdName


@steers("abort_transaction", AbortTransaction)
def abort_transaction(cluster: Cluster, arguments: AbortTransaction, turn: Turn) -> None:
    """Abort the open transaction with markers that have the next epoch (TX-92)."""
    known = _steered(cluster, arguments.transactional_id)
    if known.state is not State.ONGOING:
        raise NotNow(f"transactional id {known.name!r} is {known.state}: there is a transaction to abort in {State.ONGOING} only")
    cluster.transactions.abort(turn, known, causes.ABORT_ORDERED)
    cluster.transactions.settle(turn)


class FenceTransaction(Arguments):
    """Take a transactional id from its producer, as a newer producer does by InitProducerId: an open transaction is aborted, and later
    requests of the old producer are refused (PRODUCER_FENCED, INVALID_PRODUCER_EPOCH). No producer has the new epoch."""

    transactional_id: TransactionalIdName


@steers("fence_transaction", FenceTransaction)
def fence_transaction(cluster: Cluster, arguments: FenceTransaction, turn: Turn) -> None:
    """Fence the producer of a transactional id. While markers are being written the command is refused, as a newer producer is told to
    wait (51)."""
    known = _steered(cluster, arguments.transactional_id)
    if known.state in PREPARED:
        raise NotNow(f"transactional id {known.name!r} is {known.state}: it can be fenced once its markers are written")
    cluster.transactions.fence(turn, known)
    cluster.transactions.settle(turn)


class ExpireTransactionalId(Arguments):
    """Forget a transactional id now, as if it had not been used for transactional.id.expiration.ms: its producer gets
    INVALID_PRODUCER_ID_MAPPING, and the next producer with the id gets another producer id."""

    transactional_id: TransactionalIdName


@steers("expire_transactional_id", ExpireTransactionalId)
def expire_transactional_id(cluster: Cluster, arguments: ExpireTransactionalId, turn: Turn) -> None:
    """Expire a transactional id, which must have no open transaction (TX-93)."""
    known = _steered(cluster, arguments.transactional_id)
    if known.state not in IDLE:
        raise NotNow(f"transactional id {known.name!r} is {known.state}: it can expire once its transaction is over")
    cluster.transactions.forget(turn, known, causes.EXPIRY_ORDERED)


class HoldMarkers(Arguments):
    """Write no markers for a transactional id until they are released: the end of a transaction is decided and answered, but its readers
    do not see it. The next request of the producer is answered with CONCURRENT_TRANSACTIONS. The id need not exist yet."""

    transactional_id: TransactionalIdName
    ms: Annotated[Milliseconds | None, Meta(description="release them after so long; null: when told to")] = None


@steers("hold_markers", HoldMarkers)
def hold_markers(cluster: Cluster, arguments: HoldMarkers, turn: Turn) -> None:
    """Hold back the markers of a transactional id. If they are held already, the later end counts."""
    holds_of(cluster).markers.add(arguments.transactional_id)
    key = (RELEASE, arguments.transactional_id)
    if arguments.ms is None:
        turn.timers.cancel(key)
    else:
        turn.timers.set(key, turn.after(arguments.ms))


class ReleaseMarkers(Arguments):
    """Release the markers of a transactional id, so that waiting markers are written now. An id whose markers are not held does not
    change."""

    transactional_id: TransactionalIdName


@steers("release_markers", ReleaseMarkers)
def release_markers(cluster: Cluster, arguments: ReleaseMarkers, turn: Turn) -> None:
    """Write the markers of the id that were held back. An id that is not held must at least exist."""
    name = arguments.transactional_id
    turn.timers.cancel((RELEASE, name))
    if not let_go(cluster, name, turn):
        cluster.transactions.release(turn, transactional_id_of(cluster, name).name)


def let_go(cluster: Cluster, name: str, turn: Turn) -> bool:
    """Stop holding back the markers of the id, and return whether they were held."""
    holds = holds_of(cluster)
    if name not in holds.markers:
        return False
    holds.markers.discard(name)
    cluster.transactions.release(turn, name)
    return True


class MoveTransactionCoordinator(Arguments):
    """Move the coordinator of a transactional id to another node, or unload and load it where it is. Its producers get NOT_COORDINATOR (16)
    from the old node. An open transaction stays open, and the new coordinator writes pending markers. The id need not exist yet."""

    transactional_id: TransactionalIdName
    node: Annotated[NodeId | None, Meta(description="where to; null: the next node that runs")] = None
    loading_ms: Annotated[Milliseconds, Meta(description="so long the new coordinator answers 14 (COORDINATOR_LOAD_IN_PROGRESS)")] = 0


@steers("move_transaction_coordinator", MoveTransactionCoordinator)
def move_transaction_coordinator(cluster: Cluster, arguments: MoveTransactionCoordinator, turn: Turn) -> None:
    """Move the coordinator of a transactional id, and so of all ids in its partition of __transaction_state."""
    hosting = cluster.tenancy.hosting
    partition = hosting.partition_of(arguments.transactional_id)
    node = live_node(cluster, arguments.node) if arguments.node is not None else next_up(turn, hosting.leader_of(partition) or 0)
    if node is None:
        raise NotNow("no node runs that could coordinate: start one first")
    hosting.make_topic(turn)
    hosting.load(turn, partition, node, arguments.loading_ms)
