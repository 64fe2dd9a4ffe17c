"""DescribeAcls (29) without an authorizer: 54 (SEC-69)."""

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
    """Refuse every filter, because there is no authorizer."""
    asked = request.message
    assert isinstance(asked, DescribeAclsRequest)
    codes = (asked.resource_type_filter, asked.pattern_type_filter, asked.operation, asked.permission_type)
    if not no_authorizer.closes(request, turn, "DescribeAcls", [codes]):
        turn.reply(request.ticket, DescribeAclsResponse(error_code=error_codes.SECURITY_DISABLED, error_message=no_authorizer.DESCRIBED))
