"""DescribeProducers (key 61) has version 0, flexible from 0.

v0 new (KIP-664): what a partition knows of the producers that wrote to it.
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DESCRIBE_PRODUCERS
from ..declare import INT16, INT32, INT64, STRING, ApiDeclaration, Message, Versions, array, nullable


class TopicRequest(Message):
    name: Annotated[str, STRING] = ""
    partition_indexes: Annotated[list[int], array(INT32)] = []


class DescribeProducersRequest(Message):
    topics: Annotated[list[TopicRequest], array(TopicRequest)] = []


class ProducerState(Message):
    producer_id: Annotated[int, INT64] = 0
    producer_epoch: Annotated[int, INT32] = 0
    last_sequence: Annotated[int, INT32] = -1
    last_timestamp: Annotated[int, INT64] = -1
    coordinator_epoch: Annotated[int, INT32] = 0
    current_txn_start_offset: Annotated[int, INT64] = -1


class PartitionResponse(Message):
    partition_index: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None
    active_producers: Annotated[list[ProducerState], array(ProducerState)] = []


class TopicResponse(Message):
    name: Annotated[str, STRING] = ""
    partitions: Annotated[list[PartitionResponse], array(PartitionResponse)] = []


class DescribeProducersResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    topics: Annotated[list[TopicResponse], array(TopicResponse)] = []


API = ApiDeclaration(DESCRIBE_PRODUCERS, "DescribeProducers", Versions(0, 0), 0, DescribeProducersRequest, DescribeProducersResponse)
