"""ListTransactions (key 66) has versions 0-2, flexible from 0.

v0 new (KIP-664). v1 those that run longer than so long (KIP-994). v2 those whose id matches a pattern (KIP-1152).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import LIST_TRANSACTIONS
from ..declare import INT16, INT32, INT64, STRING, ApiDeclaration, Message, Versions, array, nullable, since


class ListTransactionsRequest(Message):
    state_filters: Annotated[list[str], array(STRING)] = []
    producer_id_filters: Annotated[list[int], array(INT64)] = []
    duration_filter: Annotated[int, INT64, since(1)] = -1
    transactional_id_pattern: Annotated[str | None, STRING, nullable(2), since(2)] = None


class TransactionState(Message):
    transactional_id: Annotated[str, STRING] = ""
    producer_id: Annotated[int, INT64] = 0
    transaction_state: Annotated[str, STRING] = ""


class ListTransactionsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    unknown_state_filters: Annotated[list[str], array(STRING)] = []
    transaction_states: Annotated[list[TransactionState], array(TransactionState)] = []


API = ApiDeclaration(LIST_TRANSACTIONS, "ListTransactions", Versions(0, 2), 0, ListTransactionsRequest, ListTransactionsResponse)
