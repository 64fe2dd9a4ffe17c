"""CreateAcls (key 30) has versions 0-3, flexible from 2.

v1 pattern types (KIP-290). v2 flexible (KIP-482). v3 the resource type "user" (KIP-373).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import CREATE_ACLS
from ..declare import INT8, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable, since


class AclCreation(Message):
    resource_type: Annotated[int, INT8] = 0
    resource_name: Annotated[str, STRING] = ""
    resource_pattern_type: Annotated[int, INT8, since(1)] = 3
    principal: Annotated[str, STRING] = ""
    host: Annotated[str, STRING] = ""
    operation: Annotated[int, INT8] = 0
    permission_type: Annotated[int, INT8] = 0


class CreateAclsRequest(Message):
    creations: Annotated[list[AclCreation], array(AclCreation)] = []


class AclCreationResult(Message):
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""


class CreateAclsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    results: Annotated[list[AclCreationResult], array(AclCreationResult)] = []


API = ApiDeclaration(CREATE_ACLS, "CreateAcls", Versions(0, 3), 2, CreateAclsRequest, CreateAclsResponse)
