"""Resolve names while an exchange is played: parameters, topics, captures, and what each member remembers."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from groupmock_codec.embedded import connect, consumer
from groupmock_codec.records import TRANSACTIONAL_BIT, NewRecord, encode_batch

from .syntax import REFERENCE, ExchangeError, Expr, FunctionCall, Literal, Ref, Regex, Sequence, Struct, Text

DELAY: Final = "group.initial.rebalance.delay.ms"
MIN_SESSION: Final = "group.min.session.timeout.ms"
MAX_SESSION: Final = "group.max.session.timeout.ms"
SETTINGS: Final = {"delay": DELAY, "min_session": MIN_SESSION, "max_session": MAX_SESSION}
"""The settings of the broker that an exchange may refer to as `$min_session` and so on."""
Value = int | str | bytes | bool | None | list["Value"] | dict[str, "Value"]
"""The plain Python values from which requests are made and with which answers are compared."""


@dataclass
class MemberMemory:
    """The identity of a scripted member, taken from its last JoinGroup answer and sent by default in its next requests."""

    client_id: str | None
    group_instance_id: str | None = None
    member_id: str = ""
    generation: int = -1
    protocol_type: str | None = "consumer"
    protocol_name: str | None = None
    leader: str = ""


@dataclass
class Scope:
    """The names visible in one dialogue."""

    values: dict[str, Value] = field(default_factory=dict)
    members: dict[str, MemberMemory] = field(default_factory=dict)

    def get(self, name: str, attribute: str | None, place: str) -> Value:
        """Return the value of `$name`, `$member.attribute` or `$topic.id`."""
        topic = self.values.get(name)
        if attribute == "id" and isinstance(topic, str) and f"id of {topic}" in self.values:
            return self.values[f"id of {topic}"]
        if attribute is not None:
            if name not in self.members or not hasattr(self.members[name], attribute):
                raise ExchangeError(place, f"${name}.{attribute} means nothing here")
            found: Value = getattr(self.members[name], attribute)
            return found
        if name not in self.values:
            raise ExchangeError(place, f"${name} means nothing here")
        return self.values[name]

    def fill(self, template: str, place: str, quote: Callable[[str], str] = str) -> str:
        """Replace the references in a text."""

        def replaced(match: re.Match[str]) -> str:
            name, _, attribute = (match["braced"] or match["bare"]).partition(".")
            return quote(str(self.get(name, attribute or None, place)))

        return REFERENCE.sub(replaced, template)

    def evaluate(self, expr: Expr, place: str) -> Value:
        """Convert a value tree to plain Python. Patterns are refused."""
        if isinstance(expr, Literal):
            return expr.value
        if isinstance(expr, Text):
            return self.fill(expr.template, place)
        if isinstance(expr, Ref):
            return self._reference(expr, place)
        if isinstance(expr, Sequence):
            return [self.evaluate(item, place) for item in expr.items]
        if isinstance(expr, Struct):
            return {name: self.evaluate(value, place) for name, value in expr.fields}
        if isinstance(expr, FunctionCall):
            return self._call(expr, place)
        raise ExchangeError(place, f"a pattern ({type(expr).__name__}) stands where a value must")

    def _reference(self, expr: Ref, place: str) -> Value:
        found = self.get(expr.name, expr.attribute, place)
        if not expr.offset:
            return found
        if not isinstance(found, int):
            raise ExchangeError(place, f"${expr.name} is no number")
        return found + expr.offset

    def _call(self, expr: FunctionCall, place: str) -> Value:
        if expr.name not in FUNCTIONS:
            raise ExchangeError(place, f"no function {expr.name!r}: there are {', '.join(sorted(FUNCTIONS))}")
        try:
            return FUNCTIONS[expr.name](*[self.evaluate(argument, place) for argument in expr.arguments])
        except (TypeError, ValueError, struct.error) as problem:
            raise ExchangeError(place, f"{expr.name}(): {problem}") from problem

    def pattern(self, expr: Regex, place: str) -> str:
        """Return the regular expression of `~"..."`, in which references are taken literally."""
        return self.fill(expr.template, place, re.escape)


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">h", len(raw)) + raw


def subscription(*topics: str) -> bytes:
    """Return a ConsumerProtocolSubscription v0 of these topics without user data
    (docs/kafka/embedded-protocols.md#consumer-subscription)."""
    return struct.pack(">hi", 0, len(topics)) + b"".join(map(_string, topics)) + b"\xff\xff\xff\xff"


def _protocol(name: str, metadata: bytes = subscription("t")) -> Value:
    return {"name": name, "metadata": metadata}


def _assign(member_id: str, assignment: bytes) -> Value:
    return {"member_id": member_id, "assignment": assignment}


def _commit_topic(name: str, *partitions: Value) -> Value:
    return {"name": name, "partitions": list(partitions)}


def _offset(index: int, offset: int, metadata: str | None = "") -> Value:
    return {"partition_index": index, "committed_offset": offset, "committed_metadata": metadata}


def _many(name: str, count: int, metadata: str) -> Value:
    """Return a commit of `count` partitions with the same metadata."""
    return {"name": name, "partitions": [_offset(index, 1, metadata) for index in range(count)]}


def _partition_error(index: int, code: int) -> Value:
    return {"partition_index": index, "error_code": code}


def _wanted(name: str, *indexes: int) -> Value:
    return {"name": name, "partition_indexes": list(indexes)}


def _fetched(index: int, offset: int, code: int = 0, metadata: str = "", epoch: int = -1) -> Value:
    return {
        "partition_index": index, "committed_offset": offset, "committed_leader_epoch": epoch, "metadata": metadata, "error_code": code,
    }  # fmt: skip


def _deleted(name: str, *indexes: int) -> Value:
    return {"name": name, "partitions": [{"partition_index": index} for index in indexes]}


def _leaver(member_id: str, instance: str | None = None) -> Value:
    return {"member_id": member_id, "group_instance_id": instance}


def _left(member_id: str, instance: str | None, code: int) -> Value:
    return {"member_id": member_id, "group_instance_id": instance, "error_code": code}


def _records(*values: str) -> bytes:
    """Return one batch of these values without timestamps."""
    return encode_batch([NewRecord(value=value.encode()) for value in values])


def _stamped(wall_ms: int, *values: str) -> bytes:
    """Return one batch of these values, one millisecond apart."""
    return encode_batch([NewRecord(value=value.encode(), timestamp=wall_ms + place) for place, value in enumerate(values)])


def _sequenced(producer_id: int, epoch: int, sequence: int, *values: str) -> bytes:
    """Return one batch of an idempotent producer (KIP-98)."""
    records = [NewRecord(value=value.encode()) for value in values]
    return encode_batch(records, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def _transactional(producer_id: int, epoch: int, sequence: int, *values: str) -> bytes:
    """Return one batch of a transactional producer."""
    records = [NewRecord(value=value.encode()) for value in values]
    return encode_batch(records, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, attributes=TRANSACTIONAL_BIT)


def _put(topic: str, index: int, records: bytes) -> Value:
    return {"name": topic, "partition_data": [{"index": index, "records": records}]}


def _read(topic: str, index: int, offset: int) -> Value:
    return {"topic": topic, "partitions": [{"partition": index, "fetch_offset": offset, "partition_max_bytes": 1 << 20}]}


def _seek(topic: str, index: int, timestamp: int) -> Value:
    return {"name": topic, "partitions": [{"partition_index": index, "timestamp": timestamp}]}


def _held(topic: str, *partitions: int) -> Value:
    return {"topic": topic, "partitions": list(partitions)}


def _told(*held: Mapping[str, Any]) -> Value:
    """Return an Assignment of these partitions without user data."""
    return consumer.encode_assignment(consumer.Assignment(1, [consumer.TopicPartitions(**each) for each in held]))


def _subscribed(version: int, topics: list[str], generation: int = -1, *owned: Mapping[str, Any]) -> Value:
    """Return a Subscription with owned partitions. Below version 2 it lacks the generation (docs/kafka/embedded-protocols.md)."""
    held = [consumer.TopicPartitions(**each) for each in owned]
    return consumer.encode_subscription(consumer.Subscription(version, topics, None, held, generation))


def _worker(version: int, url: str, offset: int, allocation: bytes | None = None) -> Value:
    """Return the metadata of a Connect worker (docs/kafka/embedded-protocols.md#kafka-connect)."""
    return connect.encode_metadata(connect.WorkerMetadata(version, url, offset, allocation))


def _work(version: int, assigned: list[Mapping[str, Any]], revoked: list[Mapping[str, Any]] | None = None, delay: int = 0) -> Value:
    """Return an Assignment of Connect: connectors with their tasks, -1 for the connector itself."""

    def tasks(found: list[Mapping[str, Any]]) -> list[connect.ConnectorTasks]:
        return [connect.ConnectorTasks(each["topic"], each["partitions"]) for each in found]

    stopped = None if revoked is None else tasks(revoked)
    return connect.encode_assignment(connect.WorkerAssignment(version, assigned=tasks(assigned), revoked=stopped, delay=delay))


def java_hash(text: str) -> int:
    """Return Java's String.hashCode, which selects the partition of a group (docs/kafka/apis.md#findcoordinator)."""
    units = text.encode("utf-16-be")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8) + low) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def group_partition(group: str, partitions: int) -> int:
    """Return the partition of __consumer_offsets that holds a group."""
    value = java_hash(group)
    return 0 if value == -(1 << 31) else abs(value) % partitions


FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    "i8": lambda value: struct.pack(">b", value),
    "i16": lambda value: struct.pack(">h", value),
    "i32": lambda value: struct.pack(">i", value),
    "i64": lambda value: struct.pack(">q", value),
    "str": _string,
    "utf8": lambda text: text.encode(),
    "join": lambda *parts: b"".join(parts),
    "times": lambda value, count: value * count,
    "sub": subscription,
    "p": _protocol,
    "for": _assign,
    "t": _commit_topic,
    "o": _offset,
    "many": _many,
    "e": _partition_error,
    "want": _wanted,
    "got": _fetched,
    "del": _deleted,
    "who": _leaver,
    "left": _left,
    "records": _records,
    "stamped": _stamped,
    "sequenced": _sequenced,
    "transactional": _transactional,
    "put": _put,
    "read": _read,
    "seek": _seek,
    "hash": group_partition,
    "held": _held,
    "told": _told,
    "subscribed": _subscribed,
    "worker": _worker,
    "work": _work,
}
"""The functions of the language by name. `frame` and `bytes` use the first ones for raw bytes."""
