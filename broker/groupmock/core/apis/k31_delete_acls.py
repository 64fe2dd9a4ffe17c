"""DeleteAcls (31) removes the rules of the authorizer that match filters (SEC-79), or answers SECURITY_DISABLED (54) without an authorizer
(SEC-69)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k31_delete_acls import DeleteAclsFilterResult, DeleteAclsMatchingAcl, DeleteAclsRequest, DeleteAclsResponse

from ..authorizer import acl_requests
from ..authorizer.acl import ALTER
from ..authorizer.acl_requests import BadAcl
from ..authorizer.right import Right
from ..budget import Ration

if TYPE_CHECKING:
    from ..authorizer.acl import Acl, AclFilter
    from ..authorizer.authorizer import Authorizer
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

RIGHTS: Final = (Right(ALTER, when=lambda request: acl_requests.are_readable(_asked(request).filters)),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Remove the rules that match any filter, and answer for each filter all that it matches, even if another filter matches them too."""
    asked, authorizer = _asked(request), cluster.authorizer
    ration = Ration(turn.settings)
    ration.take(len(asked.filters), acl_requests.ENTRY_COST)
    if acl_requests.closes(request, turn, "DeleteAcls", asked.filters):
        return
    if authorizer is None:
        turn.reply(request.ticket, refused(request, error_codes.SECURITY_DISABLED, acl_requests.ALTERED))
        return
    ration.take(len(asked.filters), authorizer.price, len(asked.filters) * authorizer.text)
    found: list[Acl] = []
    results = [_result(authorizer, each, found) for each in map(acl_requests.filter_of, asked.filters)]
    authorizer.remove(found)
    turn.reply(request.ticket, DeleteAclsResponse(filter_results=results))


def _asked(request: Request) -> DeleteAclsRequest:
    asked = request.message
    assert isinstance(asked, DeleteAclsRequest)
    return asked


def _result(authorizer: Authorizer, wanted: AclFilter, found: list[Acl]) -> DeleteAclsFilterResult:
    """Return the result of a filter, and add the rules that it matches to `found`."""
    error = acl_requests.why_not_filtered(wanted)
    if error is not None:
        return _refused(error)
    matching = authorizer.matching(wanted)
    found += matching
    return DeleteAclsFilterResult(error_message=None, matching_acls=[_row(acl) for acl in matching])


def _row(acl: Acl) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=acl.kind,
        resource_name=acl.name,
        pattern_type=acl.pattern,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def _refused(error: BadAcl) -> DeleteAclsFilterResult:
    return DeleteAclsFilterResult(error_code=error.code, error_message=error.text)


def refused(request: Request, code: int, text: str) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=[_refused(BadAcl(code, text)) for _ in _asked(request).filters])
