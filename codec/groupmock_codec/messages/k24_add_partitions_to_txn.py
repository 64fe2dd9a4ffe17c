"""AddPartitionsToTxn (key 24) has versions 0-5, flexible from 3.

v1 answered before the throttled channel is muted (KIP-219). v2 error 90 in the place of 47 (KIP-588). v3 flexible. v4
brokers only: many transactions in one request, and verify_only (KIP-890); clients stay at v3, whose fields are called
v3_and_below here. v5 error 120 may come (KIP-890).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import ADD_PARTITIONS_TO_TXN
from ..declare import BOOLEAN, IGNORABLE, INT16, INT32, INT64, STRING, ApiDeclaration, Message, Versions, array, since, until


class AddPartitionsToTxnTopic(Message):
    name: Annotated[str, STRING] = ""
    partitions: Annotated[list[int], array(INT32)] = []


class AddPartitionsToTxnTransaction(Message):
    transactional_id: Annotated[str, STRING, since(4)] = ""
    producer_id: Annotated[int, INT64, since(4)] = 0
    producer_epoch: Annotated[int, INT16, since(4)] = 0
    verify_only: Annotated[bool, BOOLEAN, since(4)] = False
    topics: Annotated[list[AddPartitionsToTxnTopic], array(AddPartitionsToTxnTopic), since(4)] = []


class AddPartitionsToTxnRequest(Message):
    transactions: Annotated[list[AddPartitionsToTxnTransaction], array(AddPartitionsToTxnTransaction), since(4)] = []
    v3_and_below_transactional_id: Annotated[str, STRING, until(3)] = ""
    v3_and_below_producer_id: Annotated[int, INT64, until(3)] = 0
    v3_and_below_producer_epoch: Annotated[int, INT16, until(3)] = 0
    v3_and_below_topics: Annotated[list[AddPartitionsToTxnTopic], array(AddPartitionsToTxnTopic), until(3)] = []


class AddPartitionsToTxnPartitionResult(Message):
    partition_index: Annotated[int, INT32] = 0
    partition_error_code: Annotated[int, INT16] = 0


class AddPartitionsToTxnTopicResult(Message):
    name: Annotated[str, STRING] = ""
    results_by_partition: Annotated[list[AddPartitionsToTxnPartitionResult], array(AddPartitionsToTxnPartitionResult)] = []


class AddPartitionsToTxnResult(Message):
    transactional_id: Annotated[str, STRING, since(4)] = ""
    topic_results: Annotated[list[AddPartitionsToTxnTopicResult], array(AddPartitionsToTxnTopicResult), since(4)] = []


class AddPartitionsToTxnResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16, since(4), IGNORABLE] = 0
    results_by_transaction: Annotated[list[AddPartitionsToTxnResult], array(AddPartitionsToTxnResult), since(4)] = []
    results_by_topic_v3_and_below: Annotated[list[AddPartitionsToTxnTopicResult], array(AddPartitionsToTxnTopicResult), until(3)] = []


API = ApiDeclaration(ADD_PARTITIONS_TO_TXN, "AddPartitionsToTxn", Versions(0, 5), 3, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse)
