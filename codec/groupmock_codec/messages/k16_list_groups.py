"""ListGroups (key 16) has versions 0-5, flexible from 3.

v1 throttle time (KIP-124), v2 answered before the throttled channel is muted (KIP-219). v3 flexible (KIP-482). v4 filter by
state, state in the answer (KIP-518). v5 filter by type, type in the answer (KIP-848).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import LIST_GROUPS
from ..declare import IGNORABLE, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, since


class ListGroupsRequest(Message):
    states_filter: Annotated[list[str], array(STRING), since(4)] = []
    types_filter: Annotated[list[str], array(STRING), since(5)] = []


class ListedGroup(Message):
    group_id: Annotated[str, STRING] = ""
    protocol_type: Annotated[str, STRING] = ""
    group_state: Annotated[str, STRING, since(4), IGNORABLE] = ""
    group_type: Annotated[str, STRING, since(5), IGNORABLE] = ""


class ListGroupsResponse(Message):
    throttle_time_ms: Annotated[int, INT32, since(1), IGNORABLE] = 0
    error_code: Annotated[int, INT16] = 0
    groups: Annotated[list[ListedGroup], array(ListedGroup)] = []


API = ApiDeclaration(LIST_GROUPS, "ListGroups", Versions(0, 5), 3, ListGroupsRequest, ListGroupsResponse)
