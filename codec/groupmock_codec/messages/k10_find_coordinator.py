"""FindCoordinator (key 10) has versions 0-6, flexible from 3.

v1 key type 1, transactions; throttle time, error message (KIP-98). v2 answered before the throttled channel is muted
(KIP-219). v3 flexible (KIP-482). v4 many keys in one request, an answer for each (KIP-699). v5 the client knows error 120
(KIP-890). v6 key type 2, share partitions (KIP-932).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import FIND_COORDINATOR
from ..declare import IGNORABLE, INT8, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable, since, until


class FindCoordinatorRequest(Message):
    key: Annotated[str, STRING, until(3)] = ""
    key_type: Annotated[int, INT8, since(1)] = 0
    coordinator_keys: Annotated[list[str], array(STRING), since(4)] = []


class Coordinator(Message):
    key: Annotated[str, STRING, since(4)] = ""
    node_id: Annotated[int, INT32, since(4)] = 0
    host: Annotated[str, STRING, since(4)] = ""
    port: Annotated[int, INT32, since(4)] = 0
    error_code: Annotated[int, INT16, since(4)] = 0
    error_message: Annotated[str | None, STRING, nullable(4), since(4), IGNORABLE] = ""


class FindCoordinatorResponse(Message):
    throttle_time_ms: Annotated[int, INT32, since(1), IGNORABLE] = 0
    error_code: Annotated[int, INT16, until(3)] = 0
    error_message: Annotated[str | None, STRING, nullable(1), since(1), until(3), IGNORABLE] = ""
    node_id: Annotated[int, INT32, until(3)] = 0
    host: Annotated[str, STRING, until(3)] = ""
    port: Annotated[int, INT32, until(3)] = 0
    coordinators: Annotated[list[Coordinator], array(Coordinator), since(4)] = []


API = ApiDeclaration(FIND_COORDINATOR, "FindCoordinator", Versions(0, 6), 3, FindCoordinatorRequest, FindCoordinatorResponse)
