"""ConsumerGroupHeartbeat (key 68) has versions 0-1, flexible from 0.

v0 new: the whole group protocol in one request (KIP-848). v1 subscription by regular expression, and the client must choose
its own member id (KIP-848, KIP-1082). An assignment of null means: nothing new.
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import CONSUMER_GROUP_HEARTBEAT
from ..declare import INT16, INT32, STRING, UUID, ZERO_UUID, ApiDeclaration, Message, Versions, array, nullable, since, struct


class TopicPartitions(Message):
    topic_id: Annotated[bytes, UUID] = ZERO_UUID
    partitions: Annotated[list[int], array(INT32)] = []


class ConsumerGroupHeartbeatRequest(Message):
    group_id: Annotated[str, STRING] = ""
    member_id: Annotated[str, STRING] = ""
    member_epoch: Annotated[int, INT32] = 0
    instance_id: Annotated[str | None, STRING, nullable()] = None
    rack_id: Annotated[str | None, STRING, nullable()] = None
    rebalance_timeout_ms: Annotated[int, INT32] = -1
    subscribed_topic_names: Annotated[list[str] | None, array(STRING), nullable()] = None
    subscribed_topic_regex: Annotated[str | None, STRING, nullable(1), since(1)] = None
    server_assignor: Annotated[str | None, STRING, nullable()] = None
    topic_partitions: Annotated[list[TopicPartitions] | None, array(TopicPartitions), nullable()] = None


class Assignment(Message):
    topic_partitions: Annotated[list[TopicPartitions], array(TopicPartitions)] = []


class ConsumerGroupHeartbeatResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None
    member_id: Annotated[str | None, STRING, nullable()] = None
    member_epoch: Annotated[int, INT32] = 0
    heartbeat_interval_ms: Annotated[int, INT32] = 0
    assignment: Annotated[Assignment | None, struct(Assignment), nullable()] = None


API = ApiDeclaration(
    CONSUMER_GROUP_HEARTBEAT, "ConsumerGroupHeartbeat", Versions(0, 1), 0, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
)
