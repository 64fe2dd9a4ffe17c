"""CreateAcls (30) is refused with SECURITY_DISABLED (54) for each entry, because there is no authorizer (SEC-69)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec import error_codes
from groupmock_codec.messages.k30_create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse

from .. import budget, no_authorizer

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    asked = request.message
    assert isinstance(asked, CreateAclsRequest)
    budget.take(turn.settings, len(asked.creations), no_authorizer.ENTRY_COST)
    codes = ((each.resource_type, each.resource_pattern_type, each.operation, each.permission_type) for each in asked.creations)
    if no_authorizer.closes(request, turn, "CreateAcls", codes):
        return
    why = no_authorizer.ALTERED
    refused = [AclCreationResult(error_code=error_codes.SECURITY_DISABLED, error_message=why) for _ in asked.creations]
    turn.reply(request.ticket, CreateAclsResponse(results=refused))
