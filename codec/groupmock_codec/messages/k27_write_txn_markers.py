"""WriteTxnMarkers (key 27) has versions 0-2, flexible from 1.

v0 new (KIP-98): the coordinator tells partitions how a transaction ended. v1 flexible. v2 says by which version of the
transaction protocol, so that a marker of the newer one must have an epoch of its own (KIP-1228).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import WRITE_TXN_MARKERS
from ..declare import BOOLEAN, IGNORABLE, INT8, INT16, INT32, INT64, STRING, ApiDeclaration, Message, Versions, array, since


class WritableTxnMarkerTopic(Message):
    name: Annotated[str, STRING] = ""
    partition_indexes: Annotated[list[int], array(INT32)] = []


class WritableTxnMarker(Message):
    producer_id: Annotated[int, INT64] = 0
    producer_epoch: Annotated[int, INT16] = 0
    transaction_result: Annotated[bool, BOOLEAN] = False
    topics: Annotated[list[WritableTxnMarkerTopic], array(WritableTxnMarkerTopic)] = []
    coordinator_epoch: Annotated[int, INT32] = 0
    transaction_version: Annotated[int, INT8, since(2), IGNORABLE] = 0


class WriteTxnMarkersRequest(Message):
    markers: Annotated[list[WritableTxnMarker], array(WritableTxnMarker)] = []


class WritableTxnMarkerPartitionResult(Message):
    partition_index: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0


class WritableTxnMarkerTopicResult(Message):
    name: Annotated[str, STRING] = ""
    partitions: Annotated[list[WritableTxnMarkerPartitionResult], array(WritableTxnMarkerPartitionResult)] = []


class WritableTxnMarkerResult(Message):
    producer_id: Annotated[int, INT64] = 0
    topics: Annotated[list[WritableTxnMarkerTopicResult], array(WritableTxnMarkerTopicResult)] = []


class WriteTxnMarkersResponse(Message):
    markers: Annotated[list[WritableTxnMarkerResult], array(WritableTxnMarkerResult)] = []


API = ApiDeclaration(WRITE_TXN_MARKERS, "WriteTxnMarkers", Versions(0, 2), 1, WriteTxnMarkersRequest, WriteTxnMarkersResponse)
