"""DescribeAcls (29) lists the rules of the authorizer that match a filter (SEC-78), or SECURITY_DISABLED (54) without an authorizer
(SEC-69)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k29_describe_acls import AclDescription, DescribeAclsRequest, DescribeAclsResource, DescribeAclsResponse

from ..authorizer import acl_requests
from ..authorizer.acl import DESCRIBE
from ..authorizer.right import Right
from ..budget import Ration

if TYPE_CHECKING:
    from ..authorizer.acl import Acl
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

RIGHTS: Final = (Right(DESCRIBE, when=lambda request: acl_requests.are_readable([request.message])),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    asked, authorizer = request.message, cluster.authorizer
    assert isinstance(asked, DescribeAclsRequest)
    if acl_requests.closes(request, turn, "DescribeAcls", [asked]):
        return
    if authorizer is None:
        turn.reply(request.ticket, refused(request, error_codes.SECURITY_DISABLED, acl_requests.DESCRIBED))
        return
    Ration(turn.settings).take(authorizer.price, size=authorizer.text)
    rows: dict[tuple[int, str, int], DescribeAclsResource] = {}
    for acl in authorizer.matching(acl_requests.filter_of(asked)):
        rows.setdefault((acl.kind, acl.name, acl.pattern), _resource(acl)).acls.append(_description(acl))
    turn.reply(request.ticket, DescribeAclsResponse(resources=list(rows.values())))


def _resource(acl: Acl) -> DescribeAclsResource:
    return DescribeAclsResource(resource_type=acl.kind, resource_name=acl.name, pattern_type=acl.pattern, acls=[])


def _description(acl: Acl) -> AclDescription:
    return AclDescription(principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission)


def refused(request: Request, code: int, text: str) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=code, error_message=text)
