"""The rules that requests about ACLs describe, and the requests that Kafka refuses or cannot decode (SEC-69, SEC-77 to SEC-79)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupmock_codec import error_codes

from ..effects import Close
from .acl import (
    ANY,
    CLUSTER,
    CLUSTER_NAME,
    MATCH,
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSION_TYPES,
    RESOURCE_TYPES,
    UNKNOWN,
    Acl,
    AclFilter,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..events import Request
    from ..settings import Quirks
    from ..turn import Turn

DESCRIBED: Final = "No Authorizer is configured on the broker"
ALTERED: Final = "No Authorizer is configured."
"""The error message for each entry of CreateAcls and for each filter of DeleteAcls in a cluster without an authorizer."""
ENTRY_COST: Final = 4


class BadAcl(NamedTuple):
    """The error with which an entry or a filter is refused."""

    code: int
    text: str | None


def are_readable(asked: Iterable[Any]) -> bool:
    """False if an entry or filter has the code 0 of a type, pattern, operation or permission. Codes that do not exist are readable."""
    return all(UNKNOWN not in codes_of(each) for each in asked)


def closes(request: Request, turn: Turn, api: str, asked: Iterable[Any]) -> bool:
    """Close the connection if an entry or filter has the code 0, which Kafka's classes refuse to decode, and return whether that was
    done."""
    if are_readable(asked):
        return False
    turn.out.append(Close(request.ticket, f"{api} has an UNKNOWN (0) resource type, pattern type, operation or permission type"))
    return True


def codes_of(asked: Any) -> tuple[int, int, int, int]:
    """Return the codes of the resource type, pattern type, operation and permission type in an entry or filter of a request."""
    if hasattr(asked, "resource_pattern_type"):  # Only an entry of CreateAcls has this field.
        return asked.resource_type, asked.resource_pattern_type, asked.operation, asked.permission_type
    return asked.resource_type_filter, asked.pattern_type_filter, asked.operation, asked.permission_type


def filter_of(asked: Any) -> AclFilter:
    return AclFilter(
        kind=asked.resource_type_filter,
        name=asked.resource_name_filter,
        pattern=asked.pattern_type_filter,
        principal=asked.principal_filter,
        host=asked.host_filter,
        operation=asked.operation,
        permission=asked.permission_type,
    )


def acl_of(asked: Any) -> Acl:
    return Acl(
        kind=asked.resource_type,
        name=asked.resource_name,
        pattern=asked.resource_pattern_type,
        principal=asked.principal,
        host=asked.host,
        operation=asked.operation,
        permission=asked.permission_type,
    )


def is_filter(acl: Acl) -> bool:
    """True if a code of the rule has a meaning only in filters. Kafka cannot make a rule of it, which fails the whole request."""
    return ANY in (acl.kind, acl.pattern, acl.operation, acl.permission) or acl.pattern == MATCH


def why_not_created(acl: Acl, quirks: Quirks) -> BadAcl | None:
    """Return the error of a rule that cannot be created, or None (AclApis.handleCreateAcls, AclControlManager.validateNewAcl)."""
    wrong = _wrong_text(acl, quirks)
    return None if wrong is None else BadAcl(error_codes.INVALID_REQUEST, wrong)


def _wrong_text(acl: Acl, quirks: Quirks) -> str | None:
    if acl.kind == CLUSTER and acl.name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    if not acl.name:
        return "Invalid empty resource name"
    for code, known, what in (
        (acl.kind, RESOURCE_TYPES, "resourceType"),
        (acl.pattern, PATTERN_TYPES, "patternType"),
        (acl.operation, OPERATIONS, "operation"),
        (acl.permission, PERMISSION_TYPES, "permissionType"),
    ):
        if code not in known:
            return f"Invalid {what} UNKNOWN"
    if ":" not in acl.principal:
        return (
            f"Could not parse principal from `{acl.principal}` "
            "(no colon is present separating the principal type from the principal name)"
        )
    return None if acl.host or quirks.acl_host_unchecked else "Host pattern cannot be null or empty"


def why_not_filtered(wanted: AclFilter) -> BadAcl | None:
    """Return the error of a filter of DeleteAcls with a code that does not exist, or None (AclControlManager.validateFilter)."""
    if wanted.kind not in (ANY, *RESOURCE_TYPES) or wanted.pattern not in (ANY, MATCH, *PATTERN_TYPES):
        return BadAcl(error_codes.INVALID_REQUEST, "Unknown patternFilter.")
    if wanted.operation not in (ANY, *OPERATIONS) or wanted.permission not in (ANY, *PERMISSION_TYPES):
        return BadAcl(error_codes.INVALID_REQUEST, "Unknown entryFilter.")
    return None
