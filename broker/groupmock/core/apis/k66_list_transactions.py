"""ListTransactions (66): the transactional ids that a node coordinates (KIP-664), v1 by how long they are under way (KIP-994), v2 by a
pattern (KIP-1152)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k66_list_transactions import ListTransactionsRequest, ListTransactionsResponse, TransactionState

from ..budget import CHARACTERS_PER_UNIT, Ration
from ..java.hashes import java_hash
from ..java.orders import scala_map_order
from ..transactions.states import NAMES

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..transactions.transactional_id import TransactionalId
    from ..turn import Turn

FILTER_COST: Final = 4  # core.budget
ID_COST: Final = 3


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Those that pass every filter; states that do not exist beside them; 128 for a pattern that cannot be read."""
    asked = request.message
    assert isinstance(asked, ListTransactionsRequest)
    ration = Ration(turn.settings)
    ration.take_names(asked.state_filters, FILTER_COST)
    ration.take(len(asked.producer_id_filters))
    ration.take(len(asked.transactional_id_pattern or "") * CHARACTERS_PER_UNIT)
    if cluster.transactions.hosting.loading(request.node):
        turn.reply(request.ticket, ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        return
    if not _readable(asked.transactional_id_pattern):
        turn.reply(request.ticket, ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION))
        return
    unknown = [state for state in scala_map_order(asked.state_filters, java_hash) if state not in NAMES]
    found = cluster.transactions.on(request.node)
    ration.take(len(found), ID_COST, size=sum(len(each.name) for each in found))
    states = [
        TransactionState(transactional_id=each.name, producer_id=each.producer_id, transaction_state=str(each.state))
        for each in found
        if _passes(asked, each, turn.wall_ms)
    ]
    turn.reply(request.ticket, ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=states))


def _passes(asked: ListTransactionsRequest, known: TransactionalId, wall_ms: int) -> bool:
    """An id that never had a transaction counts as one that is under way for ever (TX-97)."""
    if asked.state_filters and known.state not in asked.state_filters:
        return False
    if asked.producer_id_filters and known.producer_id not in asked.producer_id_filters:
        return False
    if asked.duration_filter >= 0 and wall_ms - known.started_ms <= asked.duration_filter:
        return False
    return not asked.transactional_id_pattern or re.fullmatch(asked.transactional_id_pattern, known.name) is not None


def _readable(pattern: str | None) -> bool:
    """Python's own reader stands for RE2/J's: what only one of them takes is not told apart."""
    try:
        re.compile(pattern or "")
    except (re.error, RecursionError, OverflowError):
        return False
    return True
