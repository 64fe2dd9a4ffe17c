"""ShareGroupHeartbeat (key 76) has version 1, flexible from 1.

v0 was the early access of Kafka 4.0 and is gone. v1 new: the whole protocol of a share group in one request (KIP-932). An assignment of
null means: nothing new.
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import SHARE_GROUP_HEARTBEAT
from ..declare import INT16, INT32, STRING, UUID, ZERO_UUID, ApiDeclaration, Message, Versions, array, nullable, struct


class ShareGroupHeartbeatRequest(Message):
    group_id: Annotated[str, STRING] = ""
    member_id: Annotated[str, STRING] = ""
    member_epoch: Annotated[int, INT32] = 0
    rack_id: Annotated[str | None, STRING, nullable()] = None
    subscribed_topic_names: Annotated[list[str] | None, array(STRING), nullable()] = None


class TopicPartitions(Message):
    topic_id: Annotated[bytes, UUID] = ZERO_UUID
    partitions: Annotated[list[int], array(INT32)] = []


class Assignment(Message):
    topic_partitions: Annotated[list[TopicPartitions], array(TopicPartitions)] = []


class ShareGroupHeartbeatResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None
    member_id: Annotated[str | None, STRING, nullable()] = None
    member_epoch: Annotated[int, INT32] = 0
    heartbeat_interval_ms: Annotated[int, INT32] = 0
    assignment: Annotated[Assignment | None, struct(Assignment), nullable()] = None


API = ApiDeclaration(
    SHARE_GROUP_HEARTBEAT, "ShareGroupHeartbeat", Versions(1, 1), 1, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
)
