"""DescribeTransactions (key 65) has version 0, flexible from 0.

v0 new (KIP-664): what a coordinator knows of transactional ids.
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DESCRIBE_TRANSACTIONS
from ..declare import INT16, INT32, INT64, STRING, ApiDeclaration, Message, Versions, array


class DescribeTransactionsRequest(Message):
    transactional_ids: Annotated[list[str], array(STRING)] = []


class TopicData(Message):
    topic: Annotated[str, STRING] = ""
    partitions: Annotated[list[int], array(INT32)] = []


class TransactionState(Message):
    error_code: Annotated[int, INT16] = 0
    transactional_id: Annotated[str, STRING] = ""
    transaction_state: Annotated[str, STRING] = ""
    transaction_timeout_ms: Annotated[int, INT32] = 0
    transaction_start_time_ms: Annotated[int, INT64] = 0
    producer_id: Annotated[int, INT64] = 0
    producer_epoch: Annotated[int, INT16] = 0
    topics: Annotated[list[TopicData], array(TopicData)] = []


class DescribeTransactionsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    transaction_states: Annotated[list[TransactionState], array(TransactionState)] = []


API = ApiDeclaration(
    DESCRIBE_TRANSACTIONS, "DescribeTransactions", Versions(0, 0), 0, DescribeTransactionsRequest, DescribeTransactionsResponse
)
