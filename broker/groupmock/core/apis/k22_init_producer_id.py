"""InitProducerId (22): ids for idempotent producers; v3 may name the id it had (KIP-360), which changes nothing without transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

# The default of transaction.max.timeout.ms.
MAX_TRANSACTION_TIMEOUT_MS: Final = 900_000
NONE: Final = -1


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """A fresh id with epoch 0. Transactions are not served: a transactional id is refused with 53, as by a broker on which nobody may
    write with it. librdkafka and the Java client take that as final (librdkafka asks again for ever after 35)."""
    asked = request.message
    assert isinstance(asked, InitProducerIdRequest)
    code = _refusal(asked)
    if code is not ErrorCode.NONE:
        if code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            turn.note("transactions_not_served", transactional_id=asked.transactional_id)
        answer = InitProducerIdResponse(error_code=code, producer_id=NONE, producer_epoch=NONE)
    else:
        answer = InitProducerIdResponse(producer_id=cluster.topics.new_producer_id(), producer_epoch=0)
    turn.reply(request.ticket, answer)


def _refusal(asked: InitProducerIdRequest) -> ErrorCode:
    if (asked.producer_id == NONE) != (asked.producer_epoch == NONE):
        return ErrorCode.INVALID_REQUEST
    # The order of TransactionCoordinator.handleInitProducerId: a bad request gets Kafka's code, only what Kafka would serve gets 53.
    if asked.transactional_id is None:
        return ErrorCode.NONE
    if not asked.transactional_id:
        return ErrorCode.INVALID_REQUEST
    if not 0 < asked.transaction_timeout_ms <= MAX_TRANSACTION_TIMEOUT_MS:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
