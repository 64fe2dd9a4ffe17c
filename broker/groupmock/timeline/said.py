"""Describe decoded requests and answers in few words: fields with Kafka's names, shortened values, and decoded subscriptions and
assignments."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from groupmock_codec.embedded import consumer

from ..journal.rows import ReplyRow, RequestRow
from ..text.printable import printable

LONGEST: Final = 900
"""The text of a message is cut to this many characters."""
WORD: Final = 80
"""A text within a message is cut to this many characters."""
ITEMS: Final = 4
"""At most this many elements of a list are shown."""
LARGE: Final = 4096
"""A frame with at least this many bytes is large."""
DULL: Final = frozenset(("throttle_time_ms", "unknown_tags"))
OPENED: Final = {"metadata": consumer.read_subscription, "assignment": consumer.read_assignment}
"""Fields of JoinGroup and SyncGroup with bytes of a consumer (KIP-429), and the functions that decode them if the row has no decoded
copy."""
EMBEDDING: Final = frozenset(("JoinGroup", "SyncGroup"))
_json: Final = msgspec.json.Decoder(tuple[Any, Any])


def said(row: RequestRow | ReplyRow) -> str:
    """Return the message of a row in one printable line."""
    return _told(row.message, row.embedded, row.api_name in EMBEDDING)


class Unsaid(NamedTuple):
    """A message from which the text is made later, if at all. In a long journal most messages are merged with others and never shown,
    and those of one member are mostly equal. As JSON a message takes a tenth of the memory of its objects."""

    before: str
    embedding: bool
    json: bytes

    def said(self) -> str:
        """Return `before` and the text of the message."""
        message, embedded = _json.decode(self.json)
        return self.before + _told(message, embedded, self.embedding)


def unsaid(row: RequestRow | ReplyRow, before: str = "") -> Unsaid | str:
    """Keep a message to make its text later, but return the text of a large message at once, because it needs less memory."""
    if row.size > LARGE or row.message is None:
        return before + said(row)
    return Unsaid(before, row.api_name in EMBEDDING, msgspec.json.encode((row.message, row.embedded)))


def _told(message: Any, embedded: Any, embedding: bool) -> str:
    if message is None:
        return ""
    fields = message if isinstance(message, dict) else msgspec.to_builtins(message)
    told = _Words(embedded or {}).fields(fields, "") if embedding else _fields(fields)
    return told if len(told) <= LONGEST else f"{told[:LONGEST]}... (shortened)"


def _fields(message: dict[str, Any]) -> str:
    """Return the fields in the form "name: value, name: value"."""
    return ", ".join([f"{_name(name)}: {_value(value)}" for name, value in message.items() if name not in DULL])


def _value(value: Any) -> str:
    """Return the text of a value that has no embedded bytes."""
    if isinstance(value, dict):
        return f"{{{_fields(value)}}}"
    if isinstance(value, list | tuple):
        return _items([_value(each) for each in value[:ITEMS]], len(value))
    return _word(value)


def _items(shown: list[str], all_of_them: int) -> str:
    return f"[{', '.join(shown)}]" if all_of_them <= ITEMS else f"[{', '.join(shown)}, {all_of_them - ITEMS} more]"


class _Words:
    """Describes messages as `_fields` and `_value` do, but with decoded bytes of consumers. `opened` has decoded copies by path, if the
    row has them."""

    def __init__(self, opened: dict[str, Any]) -> None:
        self._opened = opened

    def fields(self, message: dict[str, Any], path: str) -> str:
        """Return the fields in the form "name: value, name: value"."""
        shown = [
            f"{_name(name)}: {self.value(value, f'{path}.{name}' if path else str(name), str(name))}"
            for name, value in message.items()
            if name not in DULL
        ]
        return ", ".join(shown)

    def value(self, value: Any, path: str, name: str) -> str:
        """Return the text of a value, decoded if it is embedded."""
        if path in self._opened:
            return _value(msgspec.to_builtins(self._opened[path]))
        if isinstance(value, dict):
            return f"{{{self.fields(value, path)}}}"
        if isinstance(value, list | tuple):
            return _items([self.value(each, f"{path}[{place}]", "") for place, each in enumerate(value[:ITEMS])], len(value))
        if name in OPENED and isinstance(value, str):
            return self._embedded(value, name)
        return _word(value)

    def _embedded(self, value: str, name: str) -> str:
        try:
            data = b64decode(value, validate=True)
        except (Error, ValueError):
            return _word(value)
        found = OPENED[name](data) if data else None
        return f"{len(data)} bytes" if found is None else _value(msgspec.to_builtins(found))


@lru_cache(1000)
def _name(name: str) -> str:
    return printable(str(name))


def _word(value: Any) -> str:
    if value.__class__ is int:
        return str(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = str(value)
    return printable(text if len(text) <= WORD else f"{text[:WORD]}...") or '""'
