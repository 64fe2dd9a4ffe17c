"""Parse the fields that rebalances need from JoinGroup, SyncGroup, ConsumerGroupHeartbeat, StreamsGroupHeartbeat and ApiVersions. Each
message is parsed once."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from ..clients import SOFTWARE

PARTITIONS: Final = "array<struct<topic: string, partitions: array<int>>>"
HELD: Final = "array<string>"
"""The type of a list of partitions such as orders-3. Spark compares strings in lists by hash, but structs pairwise."""
MESSAGE: Final = (
    "struct<group_id: string, generation_id: bigint, member_id: string, member_epoch: bigint, assignment: string,"
    " protocols: array<struct<name: string>>, members: array<struct<member_id: string>>, assignments: array<struct<member_id: string>>,"
    " active_tasks: array<struct<subtopology_id: string, partitions: array<int>>>,"
    f" {SOFTWARE}>"
)
"""The union of the fields of these APIs in both directions. Fields that a message lacks are null. `assignment` in a heartbeat's reply is
JSON text."""
TOPICS: Final = "struct<topic_partitions: array<struct<topic_id: string, partitions: array<int>>>>"
INSIDE: Final = (
    "map<string, struct<"
    f"version: int, user_data: string, owned_partitions: {PARTITIONS}, assigned_topic_partitions: {PARTITIONS}, owned: {PARTITIONS},"
    f" assigned_partitions: {PARTITIONS}, revoke_topic_partitions: {PARTITIONS}, scheduled_rebalance_timeout: bigint>>"
)
"""The type of `embedded`, which maps a path to the structure decoded there: Kafka's own or one of the designs'
(docs/how-to/cooperative.md)."""
_LENIENT: Final = {"mode": "PERMISSIVE"}


def said() -> dict[str, Column]:
    """Return the columns `said` (MESSAGE) and `inside` (INSIDE) of a row."""
    return {"said": F.from_json("message", MESSAGE, _LENIENT), "inside": F.from_json("embedded", INSIDE, _LENIENT)}


# The functions below return SQL text, which takes one call into Java per column, while a Column per operator would take a hundred.

READABLE: Final = "(inside is not null or said.assignment = '')"
"""SQL condition: the assignment in a SyncGroup reply was decoded, or is empty, which assigns nothing."""


def claims() -> str:
    """Return SQL of the partitions that a JoinGroup claims, by protocol in its order: [{name, held}]."""
    held = _claimed("'protocols[', place, '].metadata'")
    return f"transform(said.protocols, (each, place) -> named_struct('name', each.name, 'held', {held}))"


def round_claims() -> str:
    """Return SQL of all members' claims in the leader's JoinGroup reply: [{member_id, held, stated}]. `stated` says that the Subscription
    has the partitions which the member keeps, or cannot have any."""
    path = "'members[', place, '].metadata'"
    stock, carried = _at(path), _at(path, ".user_data")
    stated = f"coalesce({carried} is not null or {stock}.version >= 1 or {stock}.user_data = '', false)"
    return f"""transform(said.members, (each, place) -> named_struct(
        'member_id', each.member_id, 'held', {_claimed(path)}, 'stated', {stated}))"""


def told() -> str:
    """Return SQL of a leader's assignments in SyncGroup: [{member_id, held, asked_back}], or null if none was decoded."""
    path = "'assignments[', place, '].assignment'"
    one = f"named_struct('member_id', each.member_id, 'held', {_assigned(path)}, 'asked_back', {_asked_back(path)})"
    return f"if(inside is null, null, transform(said.assignments, (each, place) -> {one}))"


def given() -> str:
    """Return SQL of the assignment in a SyncGroup reply."""
    return _assigned("'assignment'")


def may_have() -> str:
    """Return SQL of the assignment in a reply to a heartbeat, or null if the reply has none. A consumer group's has topic ids. An active
    task of a streams group counts as a partition of the topic "task " and the subtopology, as in `groupmock.rounds`."""
    assigned = f"from_json(said.assignment, '{TOPICS}').topic_partitions"
    topics = f"transform({assigned}, each -> named_struct('topic', each.topic_id, 'partitions', each.partitions))"
    named = "named_struct('topic', concat('task ', each.subtopology_id), 'partitions', each.partitions)"
    tasks = f"transform(said.active_tasks, each -> {named})"
    return f"case when said.active_tasks is not null then {_flat(tasks)} when said.assignment is not null then {_flat(topics)} end"


def _flat(partitions: str) -> str:
    """Return SQL that flattens [{topic, [number]}] to HELD without duplicates. Null becomes an empty list."""
    each = "topic -> transform(topic.partitions, number -> concat(topic.topic, '-', number))"
    return f"array_distinct(flatten(transform(coalesce({partitions}, cast(array() as {PARTITIONS})), {each})))"


def _at(path: str, field: str = "") -> str:
    """Return SQL of the structure that was decoded at a path of the message, or of one of its fields."""
    return f"element_at(inside, concat({path}, '{field}'))"


def _claimed(path: str) -> str:
    """Return SQL of the partitions that a member claims in its metadata at that path: in the design's own list, else in KIP-429's."""
    stock, carried, data = _at(path), _at(path, ".user_data"), _at(path, ".partition_assignor_data")
    literal = f"array_union({_flat(f'{stock}.owned_partitions')}, {_flat(f'{data}.owned')})"
    return f"if({carried} is null, {literal}, {_flat(f'{carried}.assigned_topic_partitions')})"


def _assigned(path: str) -> str:
    """Return SQL of the partitions in the Assignment at that path. Designs that replace Kafka's Assignment name the list differently."""
    stock = _at(path)
    return _flat(f"coalesce({stock}.assigned_partitions, {stock}.assigned_topic_partitions)")


def _asked_back(path: str) -> str:
    """Return SQL of {design, revoked (count), timeout_ms} in a design's Assignment at that path, or null for other assignments."""
    stock, carried = _at(path), _at(path, ".user_data")
    found = f"coalesce({carried}, if({stock}.revoke_topic_partitions is null, null, {stock}))"
    revoked, timeout_ms = f"size({_flat(f'{found}.revoke_topic_partitions')})", f"coalesce({found}.scheduled_rebalance_timeout, 0L)"
    asked_back = f"named_struct('design', {found}.version, 'revoked', {revoked}, 'timeout_ms', {timeout_ms})"
    return f"if({found} is null, null, {asked_back})"
