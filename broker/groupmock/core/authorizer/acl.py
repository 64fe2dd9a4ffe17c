"""An access control list (ACL) allows or denies one operation on the resources of one pattern to one principal. The numbers are Kafka's
(ResourceType, PatternType, AclOperation, AclPermissionType)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from groupmock_codec import error_codes

if TYPE_CHECKING:
    from ..settings import Quirks

UNKNOWN: Final = 0
ANY: Final = 1
"""In a filter, any resource type, pattern type, operation or permission type."""

TOPIC: Final = 2
GROUP: Final = 3
CLUSTER: Final = 4
TRANSACTIONAL_ID: Final = 5
RESOURCE_TYPES: Final = {
    TOPIC: "TOPIC", GROUP: "GROUP", CLUSTER: "CLUSTER", TRANSACTIONAL_ID: "TRANSACTIONAL_ID", 6: "DELEGATION_TOKEN", 7: "USER",
}  # fmt: skip
CLUSTER_NAME: Final = "kafka-cluster"
"""The name of the only resource of type CLUSTER."""
ANY_NAME: Final = "*"
"""The name of the literal pattern that covers every resource of its type."""

MATCH: Final = 2
"""In a filter, every pattern that covers the name."""
LITERAL: Final = 3
PREFIXED: Final = 4
PATTERN_TYPES: Final = {LITERAL: "LITERAL", PREFIXED: "PREFIXED"}

ALL: Final = 2
READ: Final = 3
WRITE: Final = 4
CREATE: Final = 5
DELETE: Final = 6
ALTER: Final = 7
DESCRIBE: Final = 8
CLUSTER_ACTION: Final = 9
DESCRIBE_CONFIGS: Final = 10
ALTER_CONFIGS: Final = 11
IDEMPOTENT_WRITE: Final = 12
TWO_PHASE_COMMIT: Final = 15
OPERATIONS: Final = {
    ALL: "ALL", READ: "READ", WRITE: "WRITE", CREATE: "CREATE", DELETE: "DELETE", ALTER: "ALTER", DESCRIBE: "DESCRIBE",
    CLUSTER_ACTION: "CLUSTER_ACTION", DESCRIBE_CONFIGS: "DESCRIBE_CONFIGS", ALTER_CONFIGS: "ALTER_CONFIGS",
    IDEMPOTENT_WRITE: "IDEMPOTENT_WRITE", 13: "CREATE_TOKENS", 14: "DESCRIBE_TOKENS", TWO_PHASE_COMMIT: "TWO_PHASE_COMMIT",
}  # fmt: skip

DENY: Final = 2
ALLOW: Final = 3
PERMISSION_TYPES: Final = {DENY: "DENY", ALLOW: "ALLOW"}

ANYBODY: Final = "User:*"
ANY_HOST: Final = "*"

GRANTED_BY: Final = {
    DESCRIBE: frozenset((ALL, DESCRIBE, READ, WRITE, DELETE, ALTER)),
    DESCRIBE_CONFIGS: frozenset((ALL, DESCRIBE_CONFIGS, ALTER_CONFIGS)),
}
"""The operations whose ALLOW grants an operation, for those that others imply. Every other operation is granted by itself and by ALL. A
DENY implies nothing (SEC-70)."""

SUPPORTED: Final = {
    TOPIC: (READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    GROUP: (READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    CLUSTER: (CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE),
}
"""The operations of each resource type that `authorized_operations` fields show (AclEntry.supportedOperations; SEC-73 to SEC-75)."""

OF_GROUPS_WITHOUT_CONFIGS: Final = (READ, DELETE, DESCRIBE)
DENIED: Final = {
    TOPIC: error_codes.TOPIC_AUTHORIZATION_FAILED,
    GROUP: error_codes.GROUP_AUTHORIZATION_FAILED,
    CLUSTER: error_codes.CLUSTER_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID: error_codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
"""The error code of a refusal, by the type of the resource on which a right is missing."""
DENIED_TEXT: Final = {
    TOPIC: "Topic authorization failed.",
    GROUP: "Group authorization failed.",
    CLUSTER: "Cluster authorization failed.",
    TRANSACTIONAL_ID: "Transactional Id authorization failed.",
}
"""Kafka's default message of those errors, in the answers that have one."""


def supported(kind: int, quirks: Quirks) -> tuple[int, ...]:
    """Return the operations of a resource type. Kafka 3.9 has no group configs (P2-c14)."""
    return OF_GROUPS_WITHOUT_CONFIGS if kind == GROUP and quirks.no_group_configs else SUPPORTED[kind]


def all_operations(kind: int, quirks: Quirks) -> int:
    """Return all operations of a resource type as bits: bit n stands for operation n."""
    return sum(1 << each for each in supported(kind, quirks))


class Acl(NamedTuple):
    """A rule of the authorizer. `host` is an address or `*`."""

    kind: int
    name: str
    pattern: int
    principal: str
    host: str
    operation: int
    permission: int

    @property
    def size(self) -> int:
        """Return the number of characters in the rule's texts, which the authorizer bounds."""
        return len(self.name) + len(self.principal) + len(self.host)


class AclFilter(NamedTuple):
    """A filter selects rules; None and ANY match everything (ResourcePatternFilter, AccessControlEntryFilter)."""

    kind: int = ANY
    name: str | None = None
    pattern: int = ANY
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    permission: int = ANY

    def matches(self, acl: Acl) -> bool:
        return (
            self.kind in (ANY, acl.kind)
            and self.operation in (ANY, acl.operation)
            and self.permission in (ANY, acl.permission)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self._fits_pattern(acl)
        )

    def _fits_pattern(self, acl: Acl) -> bool:
        if self.pattern == MATCH and self.name is not None:
            return self.name.startswith(acl.name) if acl.pattern == PREFIXED else acl.name in (self.name, ANY_NAME)
        return self.pattern in (ANY, MATCH, acl.pattern) and self.name in (None, acl.name)
