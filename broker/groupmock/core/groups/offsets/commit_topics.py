"""Topics and partitions of a commit as the request lists them: which of them exist, and how the answer groups its rows. OffsetCommit and
TxnOffsetCommit have the same form, with names in older versions and with topic ids in newer ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from groupmock_codec import error_codes

if TYPE_CHECKING:
    from ...log.topics import Topics


class Line(NamedTuple):
    """A partition of an offset commit, as the request lists it. `entry` numbers the topic elements; `error` is that of the topic gates
    (docs/kafka/apis.md#gates-in-front-of-the-coordinator, 3 and 4)."""

    entry: int
    name: str
    topic_id: bytes
    partition: Any
    error: int


class Head(NamedTuple):
    """A topic entry of an offset commit request."""

    entry: int
    name: str
    topic_id: bytes


Result = tuple[Line, int]


class Rows(NamedTuple):
    """The rows of one topic in an answer: each partition's number with its error code."""

    name: str
    topic_id: bytes
    partitions: list[tuple[int, int]]


def names_of(topics: Topics, asked: Sequence[Any], by_id: bool) -> list[str]:
    """Return the names of the topic elements whose names are known."""
    if not by_id:
        return [topic.name for topic in asked]
    return [name for topic in asked if (name := topics.name_of(topic.topic_id)) is not None]


def lines_of(topics: Topics, asked: Sequence[Any], by_id: bool, denied: frozenset[str]) -> list[Line]:
    """Return each partition of the topic elements with its topic error: UNKNOWN_TOPIC_OR_PARTITION (3), UNKNOWN_TOPIC_ID (100),
    TOPIC_AUTHORIZATION_FAILED (29) for the topics in `denied`, or none."""
    lines = []
    for entry, topic in enumerate(asked):
        name, unknown = topic.name, error_codes.UNKNOWN_TOPIC_OR_PARTITION
        if by_id:
            name, unknown = topics.name_of(topic.topic_id) or "", error_codes.UNKNOWN_TOPIC_ID
        count = topics.partitions(name) if name else None
        for partition in topic.partitions:
            if denied and name in denied:
                error = error_codes.TOPIC_AUTHORIZATION_FAILED
            elif count is None:
                error = unknown
            else:
                error = error_codes.NONE if 0 <= partition.partition_index < count else error_codes.UNKNOWN_TOPIC_OR_PARTITION
            lines.append(Line(entry, name, topic.topic_id, partition, error))
    return lines


def heads_of(topics: Topics, asked: Sequence[Any], by_id: bool, denied: frozenset[str], lines: list[Line]) -> list[Head]:
    """Return the topic entries of a commit that have a refused partition. An unknown or denied topic counts even without partitions,
    because Kafka names it in the answer."""
    spoilt = {line.entry for line in lines if line.error}
    heads: list[Head] = []
    for entry, topic in enumerate(asked):
        if topic.partitions and entry not in spoilt:
            continue
        name = (topics.name_of(topic.topic_id) or "") if by_id else topic.name
        if entry in spoilt or not name or name in denied or topics.partitions(name) is None:
            heads.append(Head(entry, name, topic.topic_id))
    return heads


def grouped(results: Iterable[Result], merge: bool, heads: Iterable[Head] = ()) -> list[Rows]:
    """Group the results by topic: first the topics in `heads`, then the others in order of first appearance. `merge` joins the elements
    of one topic, as when something was refused."""
    topics: dict[object, Rows] = {}

    def row(one: Head | Line) -> Rows:
        # Unknown topic ids all have the name "", which would merge them into one topic.
        key: object = (one.name or one.topic_id) if merge else one.entry
        return topics.setdefault(key, Rows(one.name, one.topic_id, []))

    for head in heads:
        row(head)
    for line, error in results:
        row(line).partitions.append((line.partition.partition_index, error))
    return list(topics.values())
