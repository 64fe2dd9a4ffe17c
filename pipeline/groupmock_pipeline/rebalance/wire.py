"""JoinGroup, SyncGroup, ConsumerGroupHeartbeat and ApiVersions as columns: only the fields that rebalances need, each message read once."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from ..clients import SOFTWARE

PARTITIONS: Final = "array<struct<topic: string, partitions: array<int>>>"
HELD: Final = "array<string>"
"""Partitions one by one, as Kafka writes them: orders-3. Spark compares strings in lists by hash, structs one with every other."""
MESSAGE: Final = (
    "struct<group_id: string, generation_id: bigint, member_id: string, member_epoch: bigint, assignment: string,"
    " protocols: array<struct<name: string>>, members: array<struct<member_id: string>>, assignments: array<struct<member_id: string>>,"
    f" {SOFTWARE}>"
)
"""The union of the fields of these APIs and both directions; what a message does not have is null. `assignment` of a heartbeat's answer is
the text of its JSON."""
TOPICS: Final = "struct<topic_partitions: array<struct<topic_id: string, partitions: array<int>>>>"
INSIDE: Final = (
    "map<string, struct<"
    f"version: int, owned_partitions: {PARTITIONS}, assigned_topic_partitions: {PARTITIONS}, owned: {PARTITIONS},"
    f" assigned_partitions: {PARTITIONS}, revoke_topic_partitions: {PARTITIONS}, scheduled_rebalance_timeout: bigint>>"
)
"""`embedded`: path -> what was decoded there, stock or one of the designs' (docs/how-to/cooperative.md)."""
_LENIENT: Final = {"mode": "PERMISSIVE"}


def said() -> dict[str, Column]:
    """The columns `said` (MESSAGE) and `inside` (INSIDE) of a row."""
    return {"said": F.from_json("message", MESSAGE, _LENIENT), "inside": F.from_json("embedded", INSIDE, _LENIENT)}


# SQL as text from here on: one call into Java for each of the columns, where a Column per operator would be a hundred.

READABLE: Final = "(inside is not null or said.assignment = '')"
"""Is the assignment that a SyncGroup was answered known? One without a byte says that the member has nothing."""


def claims() -> str:
    """What a JoinGroup says to hold, by protocol in its order: [{name, held}]."""
    held = _claimed("'protocols[', place, '].metadata'")
    return f"transform(said.protocols, (each, place) -> named_struct('name', each.name, 'held', {held}))"


def round_claims() -> str:
    """What the leader's answer to JoinGroup has of everybody's claims: [{member_id, held}]."""
    held = _claimed("'members[', place, '].metadata'")
    return f"transform(said.members, (each, place) -> named_struct('member_id', each.member_id, 'held', {held}))"


def told() -> str:
    """What a SyncGroup with assignments tells each member: [{member_id, held, asked_back}]; null where nothing of it was decoded."""
    path = "'assignments[', place, '].assignment'"
    one = f"named_struct('member_id', each.member_id, 'held', {_assigned(path)}, 'asked_back', {_asked_back(path)})"
    return f"if(inside is null, null, transform(said.assignments, (each, place) -> {one}))"


def given() -> str:
    """What a SyncGroup's answer has: all that the member holds from now on."""
    return _assigned("'assignment'")


def may_have() -> str:
    """What a heartbeat's answer says that its member may have; null: it says nothing. Topics by their ids."""
    told = f"from_json(said.assignment, '{TOPICS}').topic_partitions"
    topics = f"transform({told}, each -> named_struct('topic', each.topic_id, 'partitions', each.partitions))"
    return f"if(said.assignment is null, null, {_flat(topics)})"


def _flat(partitions: str) -> str:
    """[{topic, [number]}] -> HELD, each once; null is nothing."""
    each = "topic -> transform(topic.partitions, number -> concat(topic.topic, '-', number))"
    return f"array_distinct(flatten(transform(coalesce({partitions}, cast(array() as {PARTITIONS})), {each})))"


def _at(path: str, field: str = "") -> str:
    """What was decoded at that path of the message (pieces of a text), or in a field of it."""
    return f"element_at(inside, concat({path}, '{field}'))"


def _claimed(path: str) -> str:
    """What a member says it holds, by its metadata at that path: the design's own list where there is one, else KIP-429's."""
    stock, carried, data = _at(path), _at(path, ".user_data"), _at(path, ".partition_assignor_data")
    literal = f"array_union({_flat(f'{stock}.owned_partitions')}, {_flat(f'{data}.owned')})"
    return f"if({carried} is null, {literal}, {_flat(f'{carried}.assigned_topic_partitions')})"


def _assigned(path: str) -> str:
    """All that an Assignment at that path lets a member hold. A literal one of a design has its list by another name."""
    stock = _at(path)
    return _flat(f"coalesce({stock}.assigned_partitions, {stock}.assigned_topic_partitions)")


def _asked_back(path: str) -> str:
    """struct<design, revoked (how many), timeout_ms> of a design's Assignment at that path; null: it is none."""
    stock, carried = _at(path), _at(path, ".user_data")
    found = f"coalesce({carried}, if({stock}.revoke_topic_partitions is null, null, {stock}))"
    revoked, timeout_ms = f"size({_flat(f'{found}.revoke_topic_partitions')})", f"coalesce({found}.scheduled_rebalance_timeout, 0L)"
    told = f"named_struct('design', {found}.version, 'revoked', {revoked}, 'timeout_ms', {timeout_ms})"
    return f"if({found} is null, null, {told})"
