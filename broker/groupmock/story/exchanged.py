"""Read partitions from requests and answers, whose messages are the codec's objects or dicts from a file.

A message without the fields of its API (a row in memory that was made smaller, a journal of another program) gives no partitions.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from groupmock_codec.error_codes import error_name

from ..journal.rows import ReplyRow
from ..journal.whose import field
from ..rounds import Partition

EARLIEST, LATEST = -2, -1
"""The timestamps with which ListOffsets asks for the beginning and the end of a log."""


class Shape(NamedTuple):
    """The names of the fields of a message that hold its partitions and their values. The fields `value` and `more` are read besides the
    error."""

    topics: str = "topics"
    partitions: str = "partitions"
    topic: str = "name"
    number: str = "partition_index"
    value: str = ""
    more: str = ""


ASKED: Final = {
    "OffsetCommit": Shape(value="committed_offset"),
    "TxnOffsetCommit": Shape(value="committed_offset"),
    "Fetch": Shape(topic="topic", number="partition", value="fetch_offset"),
    "ListOffsets": Shape(value="timestamp"),
}
ANSWERED: Final = {
    "OffsetCommit": Shape(),
    "TxnOffsetCommit": Shape(),
    "OffsetDelete": Shape(),
    "OffsetFetch": Shape(value="committed_offset"),
    "Fetch": Shape("responses", topic="topic", value="high_watermark", more="log_start_offset"),
    "Produce": Shape("responses", "partition_responses", number="index", value="base_offset"),
    "ListOffsets": Shape(value="offset"),
}


class Said(NamedTuple):
    """The content of a message for one partition: Kafka's name of the error or None, and the numbers in two fields chosen by `Shape`, -1
    if missing."""

    partition: Partition
    error: str | None
    value: int
    more: int


def said(message: Any, shape: Shape, names: TopicNames) -> Iterator[Said]:
    """Yield the content for each partition of a message whose topic has a known name."""
    for topic in items(message, shape.topics):
        name = names.of(topic, shape.topic)
        for each in items(topic, shape.partitions) if name is not None else ():
            place = (str(name), number(each, shape.number))
            yield Said(place, named(field(each, "error_code")), number(each, shape.value), number(each, shape.more))


def offsets_said(message: Any, group: str, names: TopicNames) -> Iterator[Said]:
    """Yield the partitions of one group in an answer to OffsetFetch, which may be about several groups from version 8 on (KIP-709)."""
    for part in items(message, "groups") or [message]:
        if field(part, "group_id") in (None, group):
            yield from said(part, ANSWERED["OffsetFetch"], names)


def items(message: Any, name: str) -> list[Any]:
    """Return an array of a message, or [] if the message has no field of that name."""
    found = field(message, name)
    return found if isinstance(found, list) else []


def named(code: Any) -> str | None:
    """Return Kafka's name of an error code, or None for 0."""
    return error_name(code) if isinstance(code, int) and code else None


def errors_of(row: ReplyRow) -> list[str]:
    """Return the errors of an answer in order, each once."""
    return list(dict.fromkeys(each.error for each in row.errors)) if row.errors else [row.error] if row.error else []


class TopicNames:
    """Maps topic ids to names, as answers to Metadata and notes about new topics give them (KIP-516). At most `MOST` are kept."""

    MOST: Final = 100_000

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def learn(self, topic_id: Any, name: Any) -> None:
        if isinstance(name, str) and (known := _id_text(topic_id)) is not None and len(self._names) < self.MOST:
            self._names[known] = name

    def of(self, topic: Any, called: str = "name") -> str | None:
        """Return the name of a topic in a message, which is in the message or found by the topic id."""
        name = field(topic, called)
        return name if isinstance(name, str) and name else self._names.get(_id_text(field(topic, "topic_id")) or "")


def number(message: Any, name: str) -> int:
    """Return a number from a message, or -1 if the field is missing, as in Kafka."""
    value = field(message, name) if name else None
    return value if isinstance(value, int) else -1


def _id_text(topic_id: Any) -> str | None:
    text = b64encode(topic_id).decode() if isinstance(topic_id, bytes) else topic_id
    return text if isinstance(text, str) and text.strip("A=") else None
