"""Routes for the rules of the authorizer."""

from __future__ import annotations

from ..data.acls import AclRow, acl_rows
from .context import ControlContext
from .route import ControlCall


async def acls(context: ControlContext, call: ControlCall) -> list[AclRow]:
    """Return the rules of the cluster's authorizer."""
    return acl_rows(context.running.cluster)
