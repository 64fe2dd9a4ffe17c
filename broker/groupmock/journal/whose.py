"""Read the group of a row and the fields of a message, which may be the codec's object or a dict."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from groupmock_codec.api_keys import API_VERSIONS

from .rows import CommandRow, FindingRow, MemberRow, MovedRow, ReplyRow, RequestRow, Row, TimerRow

GROUP_APIS: Final = {
    "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch", "OffsetDelete", "TxnOffsetCommit",
    "ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat", "ShareFetch", "ShareAcknowledge",
}  # fmt: skip


UNKNOWN_VERSION = "UNSUPPORTED_VERSION"


def asks_again(row: ReplyRow) -> bool:
    """True for an answer to ApiVersions that names the broker's versions because it lacks the requested version. This is not an error,
    because the client then asks in a version that the broker has (KIP-511)."""
    return row.api_key == API_VERSIONS and row.error == UNKNOWN_VERSION


def field(message: Any, name: str) -> Any:
    """Return a field of a message, which is the codec's object or a dict, or None if the message has no such field."""
    return message.get(name) if isinstance(message, dict) else getattr(message, name, None)


def json_of(message: Any) -> Mapping[str, Any]:
    """Return a message as a dict of its JSON. A row in memory holds the codec's message, a row read from a file a dict."""
    if message is None:
        return {}
    found: Mapping[str, Any] = message if message.__class__ is dict else msgspec.to_builtins(message)
    return found


def bytes_of(value: str | bytes | None) -> bytes:
    """Return the bytes of a message field, which the codec has as bytes and JSON as base64. None counts as no bytes."""
    return b64decode(value) if isinstance(value, str) else value or b""


def group_of(row: Row) -> str | None:
    """Return the group that a row names. A reply names no group: it belongs to the group of its request, which has the same ticket."""
    if isinstance(row, MovedRow | MemberRow | FindingRow):
        return row.group
    if isinstance(row, RequestRow) and row.api_name in GROUP_APIS:
        return _asked_of(row.message)
    if isinstance(row, TimerRow) and row.subject:
        return row.subject[0]
    return None


def group_of_command(row: CommandRow) -> str | None:
    """Return the group that a command names, or None. A right on every group, or on those with a prefix, belongs to no single group."""
    group = row.arguments.get("group")
    return None if group == "*" or row.arguments.get("prefixed") else group


def _asked_of(message: Any) -> str | None:
    """Return the group of a request. OffsetFetch names a list of groups from version 8 on (KIP-709); the first of them counts, because
    consumers ask for one."""
    groups = field(message, "groups")
    group = field(groups[0], "group_id") if groups else field(message, "group_id")
    return group if isinstance(group, str) else None
