"""JoinGroup (key 11) has versions 0-9, flexible from 6.

v1 rebalance timeout apart from the session's (KIP-62). v2 throttle time (KIP-124), v3 answered before the throttled channel
is muted (KIP-219). v4 a dynamic member without an id is given one and error 79, and joins again with it (KIP-394). v5 group
instance id, in the leader's list too (KIP-345). v6 flexible (KIP-482). v7 the answer names the protocol type, and null for
no protocol (KIP-559). v8 a reason for the logs (KIP-800). v9 skip_assignment: a static leader that came back must not assign
(KIP-814).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import JOIN_GROUP
from ..declare import BOOLEAN, BYTES, IGNORABLE, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable, since


class JoinGroupRequestProtocol(Message):
    name: Annotated[str, STRING] = ""
    metadata: Annotated[bytes, BYTES] = b""


class JoinGroupRequest(Message):
    group_id: Annotated[str, STRING] = ""
    session_timeout_ms: Annotated[int, INT32] = 0
    rebalance_timeout_ms: Annotated[int, INT32, since(1), IGNORABLE] = -1
    member_id: Annotated[str, STRING] = ""
    group_instance_id: Annotated[str | None, STRING, nullable(5), since(5)] = None
    protocol_type: Annotated[str, STRING] = ""
    protocols: Annotated[list[JoinGroupRequestProtocol], array(JoinGroupRequestProtocol)] = []
    reason: Annotated[str | None, STRING, nullable(8), since(8), IGNORABLE] = None


class JoinGroupResponseMember(Message):
    member_id: Annotated[str, STRING] = ""
    group_instance_id: Annotated[str | None, STRING, nullable(5), since(5), IGNORABLE] = None
    metadata: Annotated[bytes, BYTES] = b""


class JoinGroupResponse(Message):
    throttle_time_ms: Annotated[int, INT32, since(2), IGNORABLE] = 0
    error_code: Annotated[int, INT16] = 0
    generation_id: Annotated[int, INT32] = -1
    protocol_type: Annotated[str | None, STRING, nullable(7), since(7), IGNORABLE] = None
    protocol_name: Annotated[str | None, STRING, nullable(7)] = ""
    leader: Annotated[str, STRING] = ""
    skip_assignment: Annotated[bool, BOOLEAN, since(9)] = False
    member_id: Annotated[str, STRING] = ""
    members: Annotated[list[JoinGroupResponseMember], array(JoinGroupResponseMember)] = []


API = ApiDeclaration(JOIN_GROUP, "JoinGroup", Versions(0, 9), 6, JoinGroupRequest, JoinGroupResponse)
