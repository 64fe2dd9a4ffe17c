"""Heartbeat (key 12) has versions 0-4, flexible from 4.

v1 throttle time (KIP-124), v2 answered before the throttled channel is muted (KIP-219). v3 group instance id (KIP-345). v4
flexible (KIP-482).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import HEARTBEAT
from ..declare import IGNORABLE, INT16, INT32, STRING, ApiDeclaration, Message, Versions, nullable, since


class HeartbeatRequest(Message):
    group_id: Annotated[str, STRING] = ""
    generation_id: Annotated[int, INT32] = 0
    member_id: Annotated[str, STRING] = ""
    group_instance_id: Annotated[str | None, STRING, nullable(3), since(3)] = None


class HeartbeatResponse(Message):
    throttle_time_ms: Annotated[int, INT32, since(1), IGNORABLE] = 0
    error_code: Annotated[int, INT16] = 0


API = ApiDeclaration(HEARTBEAT, "Heartbeat", Versions(0, 4), 4, HeartbeatRequest, HeartbeatResponse)
