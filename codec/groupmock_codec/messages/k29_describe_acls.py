"""DescribeAcls (key 29) has versions 0-3, flexible from 2.

v1 pattern types (KIP-290). v2 flexible (KIP-482). v3 the resource type "user" (KIP-373).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DESCRIBE_ACLS
from ..declare import INT8, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable, since


class DescribeAclsRequest(Message):
    """The request is one filter. A null name, principal or host matches any."""

    resource_type_filter: Annotated[int, INT8] = 0
    resource_name_filter: Annotated[str | None, STRING, nullable()] = ""
    pattern_type_filter: Annotated[int, INT8, since(1)] = 3
    principal_filter: Annotated[str | None, STRING, nullable()] = ""
    host_filter: Annotated[str | None, STRING, nullable()] = ""
    operation: Annotated[int, INT8] = 0
    permission_type: Annotated[int, INT8] = 0


class AclDescription(Message):
    principal: Annotated[str, STRING] = ""
    host: Annotated[str, STRING] = ""
    operation: Annotated[int, INT8] = 0
    permission_type: Annotated[int, INT8] = 0


class DescribeAclsResource(Message):
    resource_type: Annotated[int, INT8] = 0
    resource_name: Annotated[str, STRING] = ""
    pattern_type: Annotated[int, INT8, since(1)] = 3
    acls: Annotated[list[AclDescription], array(AclDescription)] = []


class DescribeAclsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""
    resources: Annotated[list[DescribeAclsResource], array(DescribeAclsResource)] = []


API = ApiDeclaration(DESCRIBE_ACLS, "DescribeAcls", Versions(0, 3), 2, DescribeAclsRequest, DescribeAclsResponse)
