"""DeleteTopics (key 20) has versions 0-6, flexible from 4.

v1 throttle time, v2 answered before the throttled channel is muted (KIP-219). v3 error 73 where deletion is switched off
(KIP-322). v4 flexible. v5 a message per topic, error 89 when throttled (KIP-599). v6 by name or by id, in structs of their
own (KIP-516).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DELETE_TOPICS
from ..declare import IGNORABLE, INT16, INT32, STRING, UUID, ZERO_UUID, ApiDeclaration, Message, Versions, array, nullable, since, until


class DeleteTopicState(Message):
    name: Annotated[str | None, STRING, nullable(6), since(6)] = None
    topic_id: Annotated[bytes, UUID, since(6)] = ZERO_UUID


class DeleteTopicsRequest(Message):
    topics: Annotated[list[DeleteTopicState], array(DeleteTopicState), since(6)] = []
    topic_names: Annotated[list[str], array(STRING), until(5), IGNORABLE] = []
    timeout_ms: Annotated[int, INT32] = 0


class DeletableTopicResult(Message):
    name: Annotated[str | None, STRING, nullable(6)] = ""
    topic_id: Annotated[bytes, UUID, since(6), IGNORABLE] = ZERO_UUID
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable(5), since(5), IGNORABLE] = None


class DeleteTopicsResponse(Message):
    throttle_time_ms: Annotated[int, INT32, since(1), IGNORABLE] = 0
    responses: Annotated[list[DeletableTopicResult], array(DeletableTopicResult)] = []


API = ApiDeclaration(DELETE_TOPICS, "DeleteTopics", Versions(0, 6), 4, DeleteTopicsRequest, DeleteTopicsResponse)
