"""A recording remembers who sent a JoinGroup until its answer passes by. Long texts are only compared, so a digest of each is enough."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..core.groups import causes

if TYPE_CHECKING:
    from ..net.seen import Seen
    from .heard_group import Reason

Remembered = TypeVar("Remembered")
MOST_UNANSWERED: Final = 1000
"""At most this many LeaveGroups, or JoinGroups of one group, are remembered until their answers come."""
MOST_PROTOCOLS: Final = 100
LONG: Final = 64
"""A longer subscription or protocol name (in bytes) is replaced by a digest, because it is only compared."""


def about(call: Seen, asked: Any) -> dict[str, Any]:
    """Return the fields of a JoinGroup that describe the joining member."""
    return {
        "group_instance_id": asked.group_instance_id,
        "client_id": call.client_id or "",
        "client_host": call.connection.client_host,
        "protocols": protocols(asked),
        "session_timeout_ms": asked.session_timeout_ms,
    }


def protocols(asked: Any) -> tuple[tuple[str, bytes], ...]:
    """Return the names and subscriptions of a JoinGroup's protocols, `shortened` if they are long."""
    names = [each.name if len(each.name) <= LONG else shortened(each.name.encode()).hex() for each in asked.protocols[:MOST_PROTOCOLS]]
    return tuple(zip(names, [shortened(each.metadata) for each in asked.protocols[:MOST_PROTOCOLS]], strict=True))


def shortened(data: bytes) -> bytes:
    """Return `data`, or its digest if it is long."""
    return data if len(data) <= LONG else sha256(data).digest()


def remember(table: dict[int, Remembered], ticket: int, what: Remembered) -> None:
    """Remember the sender of a request in a table of limited size until its answer comes. The oldest request is forgotten when there are
    too many, because an answer may never come."""
    if len(table) >= MOST_UNANSWERED:
        del table[next(iter(table))]
    table[ticket] = what


def joins_nameless(instance: str | None, client_id: str | None) -> Reason:
    """Return the reason for the row of a member that joins without a member id."""
    who = f"static member {instance}" if instance is not None else f"client {client_id or ''!r}"
    return causes.Why("member_joined", f"as seen from the wire: {who} joined without a member id")
