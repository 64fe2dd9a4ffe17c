"""EndTxn (26) commits or aborts a producer's transaction (KIP-98). v2 has an error of its own for a fenced producer (KIP-588). v5 answers
with the producer id and epoch for the next transaction (KIP-890)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k26_end_txn import EndTxnRequest, EndTxnResponse

from ..authorizer.acl import TRANSACTIONAL_ID, WRITE
from ..authorizer.right import Right
from ..transactions.codes import Given, fenced_code
from ..transactions.transactional_id import Holder

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

FENCED_SINCE: Final = 2
BUMPS_SINCE: Final = 5

RIGHTS: Final = (Right(WRITE, TRANSACTIONAL_ID, "transactional_id"),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Decide how the transaction ends and answer; the markers are written afterwards (TX-57)."""
    asked = request.message
    assert isinstance(asked, EndTxnRequest)
    name, by = asked.transactional_id, Holder(asked.producer_id, asked.producer_epoch)
    code = cluster.transactions.gate(name, request.node)
    given = Given(code)
    if code == error_codes.NONE:
        given = cluster.transactions.end(turn, name, by, asked.committed, request.version >= BUMPS_SINCE, request.client_id)
    answer = EndTxnResponse(
        error_code=fenced_code(given.code, FENCED_SINCE, request.version),
        producer_id=given.holder.producer_id,
        producer_epoch=given.holder.epoch,
    )
    turn.reply(request.ticket, answer)
    cluster.transactions.settle(turn)
