"""AddOffsetsToTxn (25) adds a group's partition of __consumer_offsets to a transaction, which will commit offsets of the group (KIP-98)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

from ..authorizer.acl import GROUP, READ, TRANSACTIONAL_ID, WRITE
from ..authorizer.right import Right
from ..transactions import causes
from ..transactions.codes import fenced_code
from ..transactions.transactional_id import Holder

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

FENCED_SINCE: Final = 2

RIGHTS: Final = (Right(WRITE, TRANSACTIONAL_ID, "transactional_id"), Right(READ, GROUP, "group_id"))


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Add the group's partition of __consumer_offsets to the transaction. The group need not exist, and an empty id is one (TX-45)."""
    asked = request.message
    assert isinstance(asked, AddOffsetsToTxnRequest)
    code = cluster.transactions.gate(asked.transactional_id, request.node)
    if code == error_codes.NONE:
        hosting = cluster.groups.hosting
        by, at = Holder(asked.producer_id, asked.producer_epoch), (hosting.topic, hosting.partition_of(asked.group_id))
        why = causes.group_added(asked.group_id)
        code = cluster.transactions.add(turn, asked.transactional_id, by, (at,), why, request.client_id)
        if code == error_codes.NONE:
            # The topic is created even if no offsets will be committed, because the partition gets a transaction marker anyway.
            hosting.make_topic(turn)
    turn.reply(request.ticket, AddOffsetsToTxnResponse(error_code=fenced_code(code, FENCED_SINCE, request.version)))
