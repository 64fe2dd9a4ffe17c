"""DescribeAcls (29) is refused with SECURITY_DISABLED (54), because there is no authorizer (SEC-69)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec import error_codes
from groupmock_codec.messages.k29_describe_acls import DescribeAclsRequest, DescribeAclsResponse

from .. import no_authorizer

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    asked = request.message
    assert isinstance(asked, DescribeAclsRequest)
    codes = (asked.resource_type_filter, asked.pattern_type_filter, asked.operation, asked.permission_type)
    if not no_authorizer.closes(request, turn, "DescribeAcls", [codes]):
        turn.reply(request.ticket, DescribeAclsResponse(error_code=error_codes.SECURITY_DISABLED, error_message=no_authorizer.DESCRIBED))
