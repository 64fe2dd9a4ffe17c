"""DeleteAcls (31) is refused with SECURITY_DISABLED (54) for each filter, because there is no authorizer (SEC-69)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec import error_codes
from groupmock_codec.messages.k31_delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse

from .. import budget, no_authorizer

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    asked = request.message
    assert isinstance(asked, DeleteAclsRequest)
    budget.take(turn.settings, len(asked.filters), no_authorizer.ENTRY_COST)
    codes = ((each.resource_type_filter, each.pattern_type_filter, each.operation, each.permission_type) for each in asked.filters)
    if no_authorizer.closes(request, turn, "DeleteAcls", codes):
        return
    why = no_authorizer.ALTERED
    refused = [DeleteAclsFilterResult(error_code=error_codes.SECURITY_DISABLED, error_message=why) for _ in asked.filters]
    turn.reply(request.ticket, DeleteAclsResponse(filter_results=refused))
