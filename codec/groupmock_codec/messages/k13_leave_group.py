"""LeaveGroup (key 13) has versions 0-5, flexible from 4.

v1 throttle time (KIP-124), v2 answered before the throttled channel is muted (KIP-219). v3 a list of members, each with its
own error (KIP-345). v4 flexible (KIP-482). v5 a reason per member (KIP-800).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import LEAVE_GROUP
from ..declare import IGNORABLE, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable, since, until


class MemberIdentity(Message):
    member_id: Annotated[str, STRING, since(3)] = ""
    group_instance_id: Annotated[str | None, STRING, nullable(3), since(3)] = None
    reason: Annotated[str | None, STRING, nullable(5), since(5), IGNORABLE] = None


class LeaveGroupRequest(Message):
    group_id: Annotated[str, STRING] = ""
    member_id: Annotated[str, STRING, until(2)] = ""
    members: Annotated[list[MemberIdentity], array(MemberIdentity), since(3)] = []


class MemberResponse(Message):
    member_id: Annotated[str, STRING, since(3)] = ""
    group_instance_id: Annotated[str | None, STRING, nullable(3), since(3)] = ""
    error_code: Annotated[int, INT16, since(3)] = 0


class LeaveGroupResponse(Message):
    throttle_time_ms: Annotated[int, INT32, since(1), IGNORABLE] = 0
    error_code: Annotated[int, INT16] = 0
    members: Annotated[list[MemberResponse], array(MemberResponse), since(3)] = []


API = ApiDeclaration(LEAVE_GROUP, "LeaveGroup", Versions(0, 5), 4, LeaveGroupRequest, LeaveGroupResponse)
