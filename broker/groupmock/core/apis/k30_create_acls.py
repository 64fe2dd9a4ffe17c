"""CreateAcls (30) adds rules to the authorizer (SEC-77), or answers SECURITY_DISABLED (54) without an authorizer (SEC-69)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k30_create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse

from ..authorizer import acl_requests
from ..authorizer.acl import ALTER
from ..authorizer.acl_requests import BadAcl
from ..authorizer.authorizer import NO_ROOM
from ..authorizer.right import Right
from ..budget import fitting, take

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

RIGHTS: Final = (Right(ALTER, when=lambda request: acl_requests.are_readable(_asked(request).creations)),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Add the rules of the valid entries, and answer a result for each entry."""
    asked, authorizer = _asked(request), cluster.authorizer
    take(turn.settings, len(asked.creations), acl_requests.ENTRY_COST)
    if acl_requests.closes(request, turn, "CreateAcls", asked.creations):
        return
    if authorizer is None:
        turn.reply(request.ticket, refused(request, error_codes.SECURITY_DISABLED, acl_requests.ALTERED))
        return
    wanted = [acl_requests.acl_of(each) for each in asked.creations]
    if any(map(acl_requests.is_filter, wanted)):
        failed = BadAcl(error_codes.UNKNOWN_SERVER_ERROR, None)
        turn.reply(request.ticket, CreateAclsResponse(results=[_result(failed) for _ in wanted]))
        return
    errors = [acl_requests.why_not_created(acl, turn.quirks) for acl in wanted]
    valid = [acl for acl, error in zip(wanted, errors, strict=True) if error is None]
    if authorizer.has_room(valid):
        authorizer.add(valid)
    else:
        errors = [error or BadAcl(error_codes.POLICY_VIOLATION, NO_ROOM) for error in errors]
    turn.reply(request.ticket, CreateAclsResponse(results=[_result(error) for error in errors]))


def _asked(request: Request) -> CreateAclsRequest:
    asked = request.message
    assert isinstance(asked, CreateAclsRequest)
    return asked


def _result(error: BadAcl | None) -> AclCreationResult:
    if error is None:
        return AclCreationResult()
    return AclCreationResult(error_code=error.code, error_message=None if error.text is None else fitting(error.text))


def refused(request: Request, code: int, text: str) -> CreateAclsResponse:
    return CreateAclsResponse(results=[_result(BadAcl(code, text)) for _ in _asked(request).creations])
