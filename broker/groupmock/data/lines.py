"""Converts one record to one line of JSON and back.

A key or a value is a text, any JSON, or base64, as `key_as` and `value_as` say; null is always Kafka's null. Without them a string is a
text and everything else is JSON, so a typed line means what it looks like. A line that was read has `key_as` and `value_as` wherever the
value is not a text, so that it can be written again and gives the same bytes (blanks in JSON excepted).
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from groupmock_codec.records import NewRecord, Record

from ..text.not_json import NOT_JSON, why_not_json
from ..text.remedy import remedy
from .log_record import Outcome

Form = Literal["text", "json", "base64"]
NULL: Final = b"null"
HEADER_LINE: Final = 'headers are [{"key": ..., "value": ...}] or {name: text}'
NOT_BLANK: Final = re.compile(rb"\S")
LONGEST_LINE: Final = 2 * 1024 * 1024
"""The largest number of bytes of a line. It exceeds the largest record that a topic takes by default."""
LONGEST_TEXT: Final = 600
"""An error about a line has at most this many characters, because a field's name or value in it may be as long as the line."""
Count = Annotated[int, Meta(ge=0)]
Milliseconds = Annotated[int, Meta(ge=-1, le=2**63 - 1)]


class BadLine(ValueError):
    """Raised if a line is not a record. The text names the line, the field and the remedy."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(f"line {number}: {text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + ' ...'}")
        self.number = number


class NewHeader(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A header of a record to be written. `value` and `value_as` have the same meaning as in the record."""

    key: str
    value: Annotated[msgspec.Raw | msgspec.UnsetType, Meta(description="text, JSON, base64, or null")] = msgspec.UNSET
    value_as: Form | None = None


class RecordLine(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, gc=False):
    """A record to be written, as a line of JSON."""

    topic: Annotated[str | None, Meta(description="where it goes")] = None
    partition: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="null: by its key, as Kafka's producers choose, else in turn")
    ] = None
    offset: Annotated[int | None, Meta(description="where it was read; a log gives its own")] = None
    timestamp: Annotated[Milliseconds | None, Meta(description="ms since 1970; null: now")] = None
    key: Annotated[msgspec.Raw | msgspec.UnsetType, Meta(description="text, JSON, base64, or null")] = msgspec.UNSET
    value: Annotated[msgspec.Raw | msgspec.UnsetType, Meta(description="text, JSON, base64, or null (a tombstone)")] = msgspec.UNSET
    headers: Annotated[list[NewHeader] | dict[str, str | None], Meta(description=HEADER_LINE)] = []
    key_as: Annotated[Form | None, Meta(description="text, json or base64; null: a string is a text, all else JSON")] = None
    value_as: Annotated[Form | None, Meta(description="text, json or base64; null: a string is a text, all else JSON")] = None
    transaction: Annotated[
        Outcome | None, Meta(description="where it was read: what is committed is written as any other record, what is not is refused")
    ] = None


class ShownHeader(msgspec.Struct, omit_defaults=True):
    """A header of a record that was read. `value_as` is the form of its value, by default text."""

    key: str
    value: Any
    value_as: Form = "text"


class ShownRecord(msgspec.Struct, omit_defaults=True):
    """A record that was read from a log, in the form in which it is shown. `timestamp` is ms since 1970, -1 for none; `key_as` and
    `value_as` are the forms of key and value, by default text; `transaction` is the outcome of the record's transaction, left out
    without one; `marker`: the record ends a transaction."""

    partition: int
    offset: int
    timestamp: int
    key: Any
    value: Any
    headers: list[ShownHeader] = []
    key_as: Form = "text"
    value_as: Form = "text"
    transaction: Outcome | None = None
    marker: bool = False


class Numbered(msgspec.Struct, gc=False):
    """A line of a file that is not blank, with its number, counted from 1."""

    number: int
    text: bytes


def numbered(data: bytes, first: int = 1) -> Iterator[Numbered]:
    """Yield the lines that are not blank, where the first line has the number `first`. Raises BadLine for a line that is too long."""
    at, number = 0, first
    # Blank lines are skipped in one search: four megabytes of line ends would take four seconds one by one, without a yield.
    while (found := NOT_BLANK.search(data, at)) is not None:
        number += data.count(b"\n", at, found.start())
        end = data.find(b"\n", found.start())
        end = len(data) if end < 0 else end
        if end - found.start() > LONGEST_LINE:
            raise BadLine(number, f"more than {LONGEST_LINE} bytes")
        yield Numbered(number, data[found.start() : end].rstrip())
        at = end


def lines_of(given: str | bytes | Iterable[Mapping[str, Any]]) -> bytes:
    """Convert Python data, which may contain bytes, to JSON Lines. Raises BadLine for a value that JSON cannot hold."""
    if isinstance(given, str | bytes):
        return given.encode() if isinstance(given, str) else given
    if isinstance(given, Mapping):
        raise BadLine(1, "several lines are wanted, each a mapping: [{...}]")
    return b"\n".join(_as_json(number, line) for number, line in enumerate(given, 1))


def _as_json(number: int, line: Mapping[str, Any]) -> bytes:
    if not isinstance(line, Mapping):
        raise BadLine(number, f"{line!r} is no mapping of a line's fields")
    fields = dict(line)
    for name in ("key", "value"):
        if isinstance(fields.get(name), bytes):
            fields[f"{name}_as"] = "base64"  # msgspec encodes bytes as base64.
    if isinstance(fields.get("headers"), list | tuple):
        fields["headers"] = [_as_header(each) for each in fields["headers"]]
    try:
        return msgspec.json.encode(fields)
    except (TypeError, UnicodeEncodeError) as wrong:
        raise BadLine(number, str(wrong)) from None


def _as_header(given: Any) -> Any:
    """Return a header of a record as a mapping. It may be a pair (name; bytes, text or None), as in `Broker.produce`."""
    if not isinstance(given, tuple):
        return given
    name, value = given
    return {"key": name, "value": value} | ({"value_as": "base64"} if isinstance(value, bytes) else {})


def read_line(line: Numbered, into: type[msgspec.Struct]) -> Any:
    """Parse a line as a struct of the type `into`. Raises BadLine with the field and the values that it takes."""
    try:
        return msgspec.json.decode(line.text, type=into)
    except msgspec.ValidationError as wrong:
        raise BadLine(line.number, f"{wrong} ({remedy(str(wrong), into)})") from None
    except NOT_JSON as broken:
        raise BadLine(line.number, f"not JSON, one record a line: {why_not_json(line.text, broken)}") from None


def new_record(number: int, line: RecordLine, key_as: Form | None, value_as: Form | None, now_ms: int) -> NewRecord:
    """Return the record of a line that is to be written. `key_as` and `value_as` apply if the line has none. Raises BadLine, also for a
    record of a transaction that is not committed, because it would count as committed when it is written outside of one."""
    if line.transaction not in (None, "committed"):
        otherwise = 'read with isolation "read_committed", or leave the field out'
        raise BadLine(number, f"transaction: the record is {line.transaction}: {otherwise}")
    return NewRecord(
        key=_bytes(number, "key", line.key, line.key_as or key_as),
        value=_bytes(number, "value", line.value, line.value_as or value_as),
        headers=_headers(number, line.headers),
        timestamp=now_ms if line.timestamp is None else line.timestamp,
    )


def _headers(number: int, given: list[NewHeader] | dict[str, str | None]) -> list[tuple[str, bytes | None]]:
    if isinstance(given, dict):
        return [(name, None if value is None else value.encode()) for name, value in given.items()]
    return [(each.key, _bytes(number, f"header {each.key!r}", each.value, each.value_as)) for each in given]


def _bytes(number: int, field: str, raw: msgspec.Raw | msgspec.UnsetType, form: Form | None) -> bytes | None:
    data = NULL if raw is msgspec.UNSET else bytes(raw)
    if data == NULL:
        return None
    is_text = data.startswith(b'"')
    if form == "json" or (form is None and not is_text):
        return _compact(number, field, data)
    if not is_text:
        raise BadLine(number, f'{field}: a string is wanted, as {form} (or say {field}_as: "json")')
    try:
        text: str = msgspec.json.decode(data, type=str)
    except NOT_JSON as broken:
        raise BadLine(number, f"{field}: no JSON string: {why_not_json(data, broken)}") from None
    if form != "base64":
        return text.encode()
    try:
        return b64decode(text, validate=True)
    except ValueError as wrong:
        raise BadLine(number, f"{field}: not base64: {wrong}") from None


def _compact(number: int, field: str, data: bytes) -> bytes:
    """Return a JSON text without the blanks in it. Numbers and the order of fields stay as they were written."""
    try:
        return msgspec.json.format(data, indent=-1)
    except msgspec.DecodeError as broken:
        raise BadLine(number, f"{field}: not JSON: {broken}") from None
    except RecursionError:
        raise BadLine(number, f"{field}: nested too deep") from None


def shown(
    partition: int,
    record: Record,
    key_as: Form | None,
    value_as: Form | None,
    transaction: Outcome | None = None,
    marker: bool = False,
) -> ShownRecord:
    """Return a record in the form in which it is shown: the wanted form if its bytes allow that."""
    key, key_form = _shown(record.key, key_as)
    value, value_form = _shown(record.value, value_as)
    headers = [ShownHeader(name, *_shown(each, None)) for name, each in record.headers]
    return ShownRecord(partition, record.offset, record.timestamp, key, value, headers, key_form, value_form, transaction, marker)


def _shown(data: bytes | None, form: Form | None) -> tuple[Any, Form]:
    if data is None:
        return None, "text"
    if form == "json":
        try:
            compact = msgspec.json.format(data, indent=-1)
            # The JSON text null is left out, because it would be read back as Kafka's null value.
            if compact != NULL:
                msgspec.json.decode(compact)  # The JSON is decoded to check its strings, which `msgspec.json.format` does not.
                return msgspec.Raw(compact), "json"
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    if form != "base64":
        try:
            return data.decode(), "text"
        except UnicodeDecodeError:
            pass
    return b64encode(data).decode(), "base64"
