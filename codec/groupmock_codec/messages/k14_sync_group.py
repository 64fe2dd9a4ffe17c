"""SyncGroup (key 14) has versions 0-5, flexible from 4.

v1 throttle time (KIP-124), v2 answered before the throttled channel is muted (KIP-219). v3 group instance id (KIP-345). v4
flexible (KIP-482). v5 protocol type and name both ways, checked against the group's (KIP-559).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import SYNC_GROUP
from ..declare import BYTES, IGNORABLE, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable, since


class SyncGroupRequestAssignment(Message):
    member_id: Annotated[str, STRING] = ""
    assignment: Annotated[bytes, BYTES] = b""


class SyncGroupRequest(Message):
    group_id: Annotated[str, STRING] = ""
    generation_id: Annotated[int, INT32] = 0
    member_id: Annotated[str, STRING] = ""
    group_instance_id: Annotated[str | None, STRING, nullable(3), since(3)] = None
    protocol_type: Annotated[str | None, STRING, nullable(5), since(5), IGNORABLE] = None
    protocol_name: Annotated[str | None, STRING, nullable(5), since(5), IGNORABLE] = None
    assignments: Annotated[list[SyncGroupRequestAssignment], array(SyncGroupRequestAssignment)] = []


class SyncGroupResponse(Message):
    throttle_time_ms: Annotated[int, INT32, since(1), IGNORABLE] = 0
    error_code: Annotated[int, INT16] = 0
    protocol_type: Annotated[str | None, STRING, nullable(5), since(5), IGNORABLE] = None
    protocol_name: Annotated[str | None, STRING, nullable(5), since(5), IGNORABLE] = None
    assignment: Annotated[bytes, BYTES] = b""


API = ApiDeclaration(SYNC_GROUP, "SyncGroup", Versions(0, 5), 4, SyncGroupRequest, SyncGroupResponse)
