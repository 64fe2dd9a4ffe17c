"""ShareAcknowledge (key 79) has versions 1-2, flexible from 1.

v0 was the early access of Kafka 4.0 and is gone. v1 new (KIP-932). v2 renewing acknowledgements, the lock time in the answer (KIP-1222).
Batches of acknowledgements, leaders and nodes are those of ShareFetch.
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import SHARE_ACKNOWLEDGE
from ..declare import (
    BOOLEAN,
    IGNORABLE,
    INT16,
    INT32,
    STRING,
    UUID,
    ZERO_UUID,
    ApiDeclaration,
    Message,
    Versions,
    array,
    nullable,
    since,
    struct,
)
from .k78_share_fetch import AcknowledgementBatch, LeaderIdAndEpoch, NodeEndpoint


class AcknowledgePartition(Message):
    partition_index: Annotated[int, INT32] = 0
    acknowledgement_batches: Annotated[list[AcknowledgementBatch], array(AcknowledgementBatch)] = []


class AcknowledgeTopic(Message):
    topic_id: Annotated[bytes, UUID] = ZERO_UUID
    partitions: Annotated[list[AcknowledgePartition], array(AcknowledgePartition)] = []


class ShareAcknowledgeRequest(Message):
    group_id: Annotated[str | None, STRING, nullable()] = None
    member_id: Annotated[str | None, STRING, nullable()] = ""
    share_session_epoch: Annotated[int, INT32] = 0
    is_renew_ack: Annotated[bool, BOOLEAN, since(2)] = False
    topics: Annotated[list[AcknowledgeTopic], array(AcknowledgeTopic)] = []


class PartitionData(Message):
    partition_index: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None
    current_leader: Annotated[LeaderIdAndEpoch, struct(LeaderIdAndEpoch)] = LeaderIdAndEpoch()


class ShareAcknowledgeTopicResponse(Message):
    topic_id: Annotated[bytes, UUID] = ZERO_UUID
    partitions: Annotated[list[PartitionData], array(PartitionData)] = []


class ShareAcknowledgeResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None
    acquisition_lock_timeout_ms: Annotated[int, INT32, since(2), IGNORABLE] = 0
    responses: Annotated[list[ShareAcknowledgeTopicResponse], array(ShareAcknowledgeTopicResponse)] = []
    node_endpoints: Annotated[list[NodeEndpoint], array(NodeEndpoint)] = []


API = ApiDeclaration(SHARE_ACKNOWLEDGE, "ShareAcknowledge", Versions(1, 2), 1, ShareAcknowledgeRequest, ShareAcknowledgeResponse)
