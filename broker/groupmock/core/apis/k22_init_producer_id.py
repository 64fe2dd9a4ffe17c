"""InitProducerId (22) assigns a new producer id, or to a transactional id its producer id with the next epoch. v3 may name the
producer's former id and epoch (KIP-360), v4 has an error of its own for a fenced producer (KIP-588)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse

from ..authorizer.acl import CLUSTER, CLUSTER_NAME, IDEMPOTENT_WRITE, TOPIC, TRANSACTIONAL_ID, WRITE
from ..authorizer.right import Right
from ..transactions.codes import Given, fenced_code
from ..transactions.transactional_id import NONE, Holder

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

FENCED_SINCE: Final = 4

RIGHTS: Final = (Right(WRITE, TRANSACTIONAL_ID, "transactional_id"),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Assign a producer id and an epoch to the sender. A producer with a transactional id fences the producer that had it before."""
    asked = request.message
    assert isinstance(asked, InitProducerIdRequest)
    given = _given(cluster, request, asked, turn)
    answer = InitProducerIdResponse(
        error_code=fenced_code(given.code, FENCED_SINCE, request.version),
        producer_id=given.holder.producer_id,
        producer_epoch=given.holder.epoch,
    )
    turn.reply(request.ticket, answer)
    cluster.transactions.settle(turn)


def _given(cluster: Cluster, request: Request, asked: InitProducerIdRequest, turn: Turn) -> Given:
    if asked.transactional_id is None and not _may_be_idempotent(cluster, request, turn):
        return Given(error_codes.CLUSTER_AUTHORIZATION_FAILED)
    if (asked.producer_id == NONE) != (asked.producer_epoch == NONE):
        return Given(error_codes.INVALID_REQUEST)
    name = asked.transactional_id
    if name is None:
        return Given(error_codes.NONE, Holder(cluster.transactions.producer_ids.of(request.node), 0))
    # A bad request is refused before the coordinator is checked, as in TransactionCoordinator.handleInitProducerId.
    if not name:
        return Given(error_codes.INVALID_REQUEST)
    if not 0 < asked.transaction_timeout_ms <= turn.settings.transaction_max_timeout_ms:
        return Given(error_codes.INVALID_TRANSACTION_TIMEOUT)
    if not turn.settings.transactions_enable:
        # librdkafka and the Java client give up after TRANSACTIONAL_ID_AUTHORIZATION_FAILED (53), whereas librdkafka would retry
        # UNSUPPORTED_VERSION (35) for ever.
        turn.note("transactions_not_served", transactional_id=name)
        return Given(error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    code = cluster.transactions.gate(name, request.node)
    if code != error_codes.NONE:
        return Given(code)
    own = None if asked.producer_id == NONE else Holder(asked.producer_id, asked.producer_epoch)
    return cluster.transactions.init(turn, name, asked.transaction_timeout_ms, own, request.client_id)


def _may_be_idempotent(cluster: Cluster, request: Request, turn: Turn) -> bool:
    """True if the sender may write idempotently, for which the right to write to any topic is enough (KIP-679)."""
    authorizer = cluster.authorizer
    if authorizer is None or authorizer.allows_on_any(request, WRITE, TOPIC):
        return True
    return not cluster.denied(turn, request, IDEMPOTENT_WRITE, CLUSTER, (CLUSTER_NAME,))


def refused(request: Request, code: int, text: str) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_epoch=NONE)
