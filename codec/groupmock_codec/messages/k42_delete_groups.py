"""DeleteGroups (key 42) has versions 0-3, flexible from 2.

v0 new (KIP-229). v1 answered before the throttled channel is muted (KIP-219). v2 flexible (KIP-482). v3 a text beside each
group's error (KIP-1331).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DELETE_GROUPS
from ..declare import IGNORABLE, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable, since


class DeleteGroupsRequest(Message):
    groups_names: Annotated[list[str], array(STRING)] = []


class DeletableGroupResult(Message):
    group_id: Annotated[str, STRING] = ""
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable(3), since(3), IGNORABLE] = None


class DeleteGroupsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    results: Annotated[list[DeletableGroupResult], array(DeletableGroupResult)] = []


API = ApiDeclaration(DELETE_GROUPS, "DeleteGroups", Versions(0, 3), 2, DeleteGroupsRequest, DeleteGroupsResponse)
