"""Resolve names while an exchange is played: parameters, topics, captured values, and what each member remembers."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from groupmock_codec.declare import Message
from groupmock_codec.embedded import connect, consumer
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED, NONE
from groupmock_codec.messages.k01_fetch import FetchResponse
from groupmock_codec.messages.k11_join_group import JoinGroupResponse
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdResponse
from groupmock_codec.messages.k26_end_txn import EndTxnResponse
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from groupmock_codec.messages.k76_share_group_heartbeat import ShareGroupHeartbeatResponse
from groupmock_codec.messages.k88_streams_group_heartbeat import StreamsGroupHeartbeatResponse, TaskIds
from groupmock_codec.records import TRANSACTIONAL_BIT, NewRecord, encode_batch

from .credentials import TOKENS
from .syntax import REFERENCE, ExchangeError, Expr, FunctionCall, Literal, Ref, Regex, Sequence, Struct, Text

DELAY: Final = "group.initial.rebalance.delay.ms"
MIN_SESSION: Final = "group.min.session.timeout.ms"
MAX_SESSION: Final = "group.max.session.timeout.ms"
SETTINGS: Final = {"delay": DELAY, "min_session": MIN_SESSION, "max_session": MAX_SESSION}
"""The settings of the broker that an exchange may refer to as `$min_session` and so on."""
Value = int | str | bytes | bool | None | list["Value"] | dict[str, "Value"]
"""The plain Python values from which requests are made and with which answers are compared."""


NO_TOPIC: Final = b"\xee" * 16
"""The topic id that is used for the name of a missing topic."""


@dataclass
class MemberMemory:
    """The memory of a scripted member, taken from its answers.

    The id, the generation and the protocol of its last JoinGroup are sent by default in its next requests. Exchanges can refer to all of
    it. `joined_type` is the protocol type in the last JoinGroup answer.
    """

    client_id: str | None
    group_instance_id: str | None = None
    member_id: str = ""
    generation: int = -1
    protocol_type: str | None = "consumer"
    protocol_name: str | None = None
    leader: str = ""
    joined_type: str | None = None
    epoch: int = 0
    assigned: list[Value] = field(default_factory=list)
    active: list[Value] = field(default_factory=list)
    standby: list[Value] = field(default_factory=list)
    producer_id: int | None = None
    producer_epoch: int | None = None
    session_id: int | None = None
    last_join: int = -1

    def learn(self, number: int, version: int, answer: Message) -> None:
        """Remember what an answer says about the member.

        `number` counts requests: if two JoinGroups are pending, the later one counts, whichever is answered first.
        """
        if isinstance(answer, JoinGroupResponse):
            # MEMBER_ID_REQUIRED (79) brings the id that the next JoinGroup must carry (KIP-394, CLIENT-01).
            if answer.error_code in (NONE, MEMBER_ID_REQUIRED) and number >= self.last_join:
                self.last_join, self.member_id = number, answer.member_id
                if answer.error_code == NONE:
                    self.generation, self.leader = answer.generation_id, answer.leader
                    self.joined_type = answer.protocol_type if version >= 7 else "consumer"
                    self.protocol_name = answer.protocol_name
        elif isinstance(answer, ConsumerGroupHeartbeatResponse | ShareGroupHeartbeatResponse) and answer.error_code == NONE:
            self.member_id, self.epoch = answer.member_id or "", answer.member_epoch
            if answer.assignment is not None:
                rows = answer.assignment.topic_partitions
                self.assigned = [{"topic_id": row.topic_id, "partitions": list(row.partitions)} for row in rows]
        elif isinstance(answer, StreamsGroupHeartbeatResponse) and answer.error_code == NONE:
            self.member_id, self.epoch = answer.member_id, answer.member_epoch
            if answer.active_tasks is not None:
                self.active, self.standby = _tasks(answer.active_tasks), _tasks(answer.standby_tasks or [])
        elif isinstance(answer, InitProducerIdResponse) or (isinstance(answer, EndTxnResponse) and version >= 5):
            if answer.error_code == NONE:
                self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
        elif isinstance(answer, FetchResponse) and version >= 7 and answer.session_id:
            self.session_id = answer.session_id


def _tasks(rows: list[TaskIds]) -> list[Value]:
    return [{"subtopology_id": row.subtopology_id, "partitions": list(row.partitions)} for row in rows]


@dataclass
class Scope:
    """The names that are visible in one dialogue, with their values."""

    values: dict[str, Value] = field(default_factory=dict)
    members: dict[str, MemberMemory] = field(default_factory=dict)
    answers: dict[str, Message | None] = field(default_factory=dict)
    """Maps the name of a request to its answer, or to None before the answer came."""

    def get(self, name: str, attribute: str | None, place: str) -> Value:
        """Return the value of `$name`, `$member.attribute` or `$topic.id`."""
        topic = self.values.get(name)
        if attribute == "id" and isinstance(topic, str):
            return self.values.get(f"id of {topic}", NO_TOPIC)
        if attribute is not None and name in self.answers:
            return self._answered(self.answers[name], attribute, place)
        if attribute is not None:
            if name not in self.members or not hasattr(self.members[name], attribute):
                raise ExchangeError(place, f"${name}.{attribute} means nothing here")
            found: Value = getattr(self.members[name], attribute)
            return found
        if name not in self.values:
            raise ExchangeError(place, f"${name} means nothing here")
        return self.values[name]

    @staticmethod
    def _answered(answer: Message | None, attribute: str, place: str) -> Value:
        if answer is not None and not hasattr(answer, attribute):
            raise ExchangeError(place, f"{type(answer).__name__} has no field {attribute!r}")
        found: Value = getattr(answer, attribute, None)
        return found

    def fill(self, template: str, place: str, quote: Callable[[str], str] = str) -> str:
        """Replace the references in a text by their values."""

        def replaced(match: re.Match[str]) -> str:
            name, _, attribute = (match["braced"] or match["bare"]).partition(".")
            return quote(str(self.get(name, attribute or None, place)))

        return REFERENCE.sub(replaced, template)

    def evaluate(self, expr: Expr, place: str) -> Value:
        """Convert a parsed value to a plain Python value. Patterns are refused."""
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
        if not expr.offset or found is None:
            return found
        if not isinstance(found, int):
            raise ExchangeError(place, f"${expr.name} is no number")
        return found + expr.offset

    def _call(self, expr: FunctionCall, place: str) -> Value:
        if expr.name == "led":
            return self._led(*(str(self.evaluate(argument, place)) for argument in expr.arguments))
        if expr.name not in FUNCTIONS:
            raise ExchangeError(place, f"no function {expr.name!r}: there are {', '.join(sorted([*FUNCTIONS, 'led']))}")
        try:
            return FUNCTIONS[expr.name](*[self.evaluate(argument, place) for argument in expr.arguments])
        except (TypeError, ValueError, struct.error) as problem:
            raise ExchangeError(place, f"{expr.name}(): {problem}") from problem

    def _led(self, leader: str, *members: str) -> Value:
        """Return the assignments that a leader sends in SyncGroup, each of which consists of the generation and the member's name.
        Others assign nothing."""
        mine = self.members[leader]
        if not mine.member_id or mine.leader != mine.member_id:
            return []
        known = [(name, self.members[name].member_id) for name in members if name in self.members]
        return [_assign(member_id, f"{mine.generation} {name}".encode()) for name, member_id in known if member_id]

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
    """Return the fields of a commit of `count` partitions with the same metadata."""
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
    """Return one record batch with these values and without timestamps."""
    return encode_batch([NewRecord(value=value.encode()) for value in values])


def _stamped(wall_ms: int, *values: str) -> bytes:
    """Return one record batch with these values, whose timestamps are one millisecond apart."""
    return encode_batch([NewRecord(value=value.encode(), timestamp=wall_ms + place) for place, value in enumerate(values)])


def _sequenced(producer_id: int | None, epoch: int | None, sequence: int, *values: str, attributes: int = 0) -> bytes:
    """Return one record batch of an idempotent producer (KIP-98). A producer without an id writes -1."""
    return encode_batch(
        [NewRecord(value=value.encode()) for value in values],
        producer_id=-1 if producer_id is None else producer_id,
        producer_epoch=-1 if epoch is None else epoch,
        base_sequence=sequence,
        attributes=attributes,
    )


def _transactional(producer_id: int | None, epoch: int | None, sequence: int, *values: str) -> bytes:
    """Return one record batch of a transactional producer."""
    return _sequenced(producer_id, epoch, sequence, *values, attributes=TRANSACTIONAL_BIT)


def _put(topic: str, index: int, records: bytes) -> Value:
    return {"name": topic, "partition_data": [{"index": index, "records": records}]}


def _read(topic: str, index: int, offset: int) -> Value:
    return {"topic": topic, "partitions": [{"partition": index, "fetch_offset": offset, "partition_max_bytes": 1 << 20}]}


def _seek(topic: str, index: int, timestamp: int) -> Value:
    return {"name": topic, "partitions": [{"partition_index": index, "timestamp": timestamp}]}


def _shared(topic_id: bytes, *indexes: int) -> Value:
    """Return partitions of a topic that a ShareFetch names without acknowledgements."""
    return {"topic_id": topic_id, "partitions": [{"partition_index": index} for index in indexes]}


def _acks(topic_id: bytes, index: int, *batches: Value) -> Value:
    return {"topic_id": topic_id, "partitions": [{"partition_index": index, "acknowledgement_batches": list(batches)}]}


def _batch(first: int, last: int, *types: int) -> Value:
    return {"first_offset": first, "last_offset": last, "acknowledge_types": list(types)}


def _acked(topic_id: bytes, index: int, code: int, text: str | None = None) -> Value:
    """Return what a ShareAcknowledge is answered for one partition."""
    return {"topic_id": topic_id, "partitions": [{"partition_index": index, "error_code": code, "error_message": text}]}


def _gave(topic_id: bytes, index: int, *runs: Value) -> Value:
    """Return one partition of a ShareFetch answer that has these runs of acquired records."""
    return {"topic_id": topic_id, "partitions": [_given(index, *runs)]}


def _given(index: int, *runs: Value) -> Value:
    return {"partition_index": index, "error_code": 0, "acknowledge_error_code": 0, "acquired_records": list(runs)}


def _run(first: int, last: int, count: int) -> Value:
    return {"first_offset": first, "last_offset": last, "delivery_count": count}


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
    "shared": _shared,
    "acks": _acks,
    "batch": _batch,
    "acked": _acked,
    "gave": _gave,
    "given": _given,
    "run": _run,
    "held": _held,
    "told": _told,
    "subscribed": _subscribed,
    "worker": _worker,
    "work": _work,
    **TOKENS,
}
"""Maps the names of the exchange language's functions to Python functions. `frame` and `bytes` use the first ones for raw bytes."""
