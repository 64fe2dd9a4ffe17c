"""DescribeGroups (key 15) has versions 0-6, flexible from 5.

v1 throttle time (KIP-124), v2 answered before the throttled channel is muted (KIP-219). v3 authorized operations (KIP-430).
v4 instance id of each member (KIP-345). v5 flexible (KIP-482). v6 error 69 for a group that does not exist, with a message,
in the place of state Dead (KIP-1043).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DESCRIBE_GROUPS
from ..declare import BOOLEAN, BYTES, IGNORABLE, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable, since


class DescribeGroupsRequest(Message):
    groups: Annotated[list[str], array(STRING)] = []
    include_authorized_operations: Annotated[bool, BOOLEAN, since(3)] = False


class DescribedGroupMember(Message):
    member_id: Annotated[str, STRING] = ""
    group_instance_id: Annotated[str | None, STRING, nullable(4), since(4), IGNORABLE] = None
    client_id: Annotated[str, STRING] = ""
    client_host: Annotated[str, STRING] = ""
    member_metadata: Annotated[bytes, BYTES] = b""
    member_assignment: Annotated[bytes, BYTES] = b""


class DescribedGroup(Message):
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable(6), since(6)] = None
    group_id: Annotated[str, STRING] = ""
    group_state: Annotated[str, STRING] = ""
    protocol_type: Annotated[str, STRING] = ""
    protocol_data: Annotated[str, STRING] = ""
    members: Annotated[list[DescribedGroupMember], array(DescribedGroupMember)] = []
    authorized_operations: Annotated[int, INT32, since(3)] = -2147483648


class DescribeGroupsResponse(Message):
    throttle_time_ms: Annotated[int, INT32, since(1), IGNORABLE] = 0
    groups: Annotated[list[DescribedGroup], array(DescribedGroup)] = []


API = ApiDeclaration(DESCRIBE_GROUPS, "DescribeGroups", Versions(0, 6), 5, DescribeGroupsRequest, DescribeGroupsResponse)
