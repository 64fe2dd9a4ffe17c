"""A decoded request or answer in few words: its fields with Kafka's names, what is long made short, subscriptions and assignments
opened."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from typing import Any, Final

import msgspec

from groupmock_codec.embedded import consumer

from ..journal.rows import ReplyRow, RequestRow
from ..printable import printable

LONGEST: Final = 900
"""Characters of a whole message,"""
WORD: Final = 80
"""of one text in it,"""
ITEMS: Final = 4
"""and how many elements of a list."""
DULL: Final = frozenset(("throttle_time_ms", "unknown_tags"))
OPENED: Final = {"metadata": consumer.read_subscription, "assignment": consumer.read_assignment}
"""Fields of JoinGroup and SyncGroup that a consumer wrote (KIP-429), and what reads them where the row has no copy of its own."""
EMBEDDING: Final = frozenset(("JoinGroup", "SyncGroup"))


def said(row: RequestRow | ReplyRow) -> str:
    """The message of a row, one line, printable."""
    if row.message is None:
        return ""
    message = row.message if isinstance(row.message, dict) else msgspec.to_builtins(row.message)
    opened = row.embedded or {}
    told = _Words(opened, row.api_name in EMBEDDING).fields(message, "")
    return told if len(told) <= LONGEST else f"{told[:LONGEST]}... (shortened)"


class _Words:
    def __init__(self, opened: dict[str, Any], embedding: bool) -> None:
        self._opened, self._embedding = opened, embedding

    def fields(self, message: dict[str, Any], path: str) -> str:
        """name: value, name: value."""
        shown = ((name, self.value(value, f"{path}.{name}" if path else str(name), str(name))) for name, value in message.items())
        return ", ".join(f"{printable(str(name))}: {text}" for name, text in shown if name not in DULL)

    def value(self, value: Any, path: str, name: str) -> str:
        """One of them."""
        if path in self._opened:
            return self.value(msgspec.to_builtins(self._opened[path]), "", "")
        if isinstance(value, dict):
            return f"{{{self.fields(value, path)}}}"
        if isinstance(value, list | tuple):
            shown = [self.value(each, f"{path}[{place}]", "") for place, each in enumerate(value[:ITEMS])]
            more = [f"{len(value) - ITEMS} more"] if len(value) > ITEMS else []
            return f"[{', '.join([*shown, *more])}]"
        if self._embedding and name in OPENED and isinstance(value, str):
            return self._embedded(value, name)
        return _word(value)

    def _embedded(self, value: str, name: str) -> str:
        try:
            data = b64decode(value, validate=True)
        except (Error, ValueError):
            return _word(value)
        found = OPENED[name](data) if data else None
        return f"{len(data)} bytes" if found is None else self.value(msgspec.to_builtins(found), "", "")


def _word(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = str(value)
    return printable(text if len(text) <= WORD else f"{text[:WORD]}...") or '""'
