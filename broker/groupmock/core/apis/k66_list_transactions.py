"""ListTransactions (66) lists the transactional ids that a node coordinates (KIP-664); v1 filters by duration (KIP-994), v2 by a pattern
(KIP-1152)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k66_list_transactions import ListTransactionsRequest, ListTransactionsResponse, TransactionState

from ..authorizer.acl import DESCRIBE, TRANSACTIONAL_ID
from ..budget import CHARACTERS_PER_UNIT, Ration, fitting
from ..java.hashes import java_hash
from ..java.orders import scala_map_order
from ..re2j.matching import compiled
from ..re2j.syntax import RegexRefused
from ..transactions.states import NAMES

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..transactions.transactional_id import TransactionalId
    from ..turn import Turn

FILTER_COST: Final = 4
ID_COST: Final = 3


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """List the transactional ids that pass every filter, and name the unknown states of the filter. A pattern that cannot be read is
    refused with INVALID_REGULAR_EXPRESSION (128)."""
    asked = request.message
    assert isinstance(asked, ListTransactionsRequest)
    ration = Ration(turn.settings)
    ration.take_names(asked.state_filters, FILTER_COST)
    ration.take(len(asked.producer_id_filters))
    ration.take(len(asked.transactional_id_pattern or "") * CHARACTERS_PER_UNIT)
    if cluster.tenancy.hosting.loading(request.node):
        turn.reply(request.ticket, ListTransactionsResponse(error_code=error_codes.COORDINATOR_LOAD_IN_PROGRESS))
        return
    unknown = [state for state in scala_map_order(asked.state_filters, java_hash) if state not in NAMES]
    found = [each for each in cluster.transactions.on(request.node) if cluster.allows(request, DESCRIBE, TRANSACTIONAL_ID, each.name)]
    ration.take(len(found), ID_COST, size=sum(len(each.name) for each in found))
    try:
        wanted = _wanted(asked, found, turn.wall_ms)
    except RegexRefused as refused:
        turn.note("pattern_refused", pattern=fitting(asked.transactional_id_pattern or ""), reason=refused.detail)
        turn.reply(request.ticket, ListTransactionsResponse(error_code=error_codes.INVALID_REGULAR_EXPRESSION))
        return
    states = [
        TransactionState(transactional_id=each.name, producer_id=each.producer_id, transaction_state=str(each.state)) for each in wanted
    ]
    turn.reply(request.ticket, ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=states))


def _wanted(asked: ListTransactionsRequest, known: list[TransactionalId], wall_ms: int) -> list[TransactionalId]:
    """Return the transactional ids that pass every filter. An id that never had a transaction passes every filter by duration (TX-97).
    Raises RegexRefused."""
    states, producers, pattern = frozenset(asked.state_filters), frozenset(asked.producer_id_filters), asked.transactional_id_pattern
    found = [
        each
        for each in known
        if (not states or each.state in states)
        and (not producers or each.producer_id in producers)
        and (asked.duration_filter < 0 or wall_ms - each.started_ms > asked.duration_filter)
    ]
    if not pattern:
        return found
    named = frozenset(compiled(pattern).matching(each.name for each in found))
    return [each for each in found if each.name in named]
