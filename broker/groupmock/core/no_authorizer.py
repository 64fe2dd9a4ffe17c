"""Without an authorizer, requests about ACLs are answered SECURITY_DISABLED (SEC-69), if Kafka can decode them.

Kafka's classes refuse code 0 (UNKNOWN) of a type, pattern, operation or permission: the connection is closed (SEC-77, SEC-78). Codes that
do not exist become 0 only after that, and are refused like all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .effects import Close

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .events import Request
    from .turn import Turn

DESCRIBED: Final = "No Authorizer is configured on the broker"
ALTERED: Final = "No Authorizer is configured."
"""The error message for each entry of CreateAcls and for each filter of DeleteAcls."""
ENTRY_COST: Final = 3


def closes(request: Request, turn: Turn, api: str, codes: Iterable[tuple[int, int, int, int]]) -> bool:
    """Close the connection if one of these codes (resource type, pattern type, operation, permission type) is 0, and return whether that
    was done."""
    unknown = any(0 in each for each in codes)
    if unknown:
        turn.out.append(Close(request.ticket, f"{api} has an UNKNOWN (0) resource type, pattern type, operation or permission type"))
    return unknown
