"""Read the rules of the authorizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..core.authorizer.acl import OPERATIONS, PATTERN_TYPES, PERMISSION_TYPES, RESOURCE_TYPES

if TYPE_CHECKING:
    from ..core.cluster import Cluster


class AclRow(msgspec.Struct, frozen=True):
    """A row shows a rule of the authorizer in Kafka's words. `permission` is ALLOW or DENY, and `host` is the address from which the rule
    holds."""

    permission: str
    principal: str
    operation: str
    resource_type: str
    resource: str
    pattern: str
    host: str


def acl_rows(cluster: Cluster) -> list[AclRow]:
    """Return all rules in the order in which they were added. A cluster without an authorizer has none."""
    rules = () if cluster.authorizer is None else cluster.authorizer.rules()
    return [
        AclRow(
            PERMISSION_TYPES[acl.permission],
            acl.principal,
            OPERATIONS[acl.operation],
            RESOURCE_TYPES[acl.kind],
            acl.name,
            PATTERN_TYPES[acl.pattern],
            acl.host,
        )
        for acl in rules
    ]
