"""ListTransactions (66): there are none (KIP-664). Filters are judged all the same: a state that is none (KIP-664), a pattern that is
none (KIP-1152)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k66_list_transactions import ListTransactionsRequest, ListTransactionsResponse

from ..budget import CHARACTERS_PER_UNIT, Ration
from ..java.hashes import java_hash
from ..java.orders import scala_map_order

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

STATES: Final = frozenset(
    ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence")
)
"""TransactionState of Kafka's coordinator, as written: case and blanks count."""
FILTER_COST: Final = 4  # core.budget


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """An empty list; the states that do not exist beside it; 128 for a pattern that cannot be read."""
    asked = request.message
    assert isinstance(asked, ListTransactionsRequest)
    ration = Ration(turn.settings)
    ration.take_names(asked.state_filters, FILTER_COST)
    ration.take(len(asked.transactional_id_pattern or "") * CHARACTERS_PER_UNIT)
    if not _readable(asked.transactional_id_pattern):
        turn.reply(request.ticket, ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION))
        return
    unknown = [state for state in scala_map_order(asked.state_filters, java_hash) if state not in STATES]
    turn.reply(request.ticket, ListTransactionsResponse(unknown_state_filters=unknown))


def _readable(pattern: str | None) -> bool:
    """Python's own reader stands for RE2/J's: what only one of them takes is not told apart, as there is nothing to match."""
    try:
        re.compile(pattern or "")
    except (re.error, RecursionError, OverflowError):
        return False
    return True
