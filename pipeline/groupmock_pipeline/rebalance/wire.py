"""JoinGroup, SyncGroup, ConsumerGroupHeartbeat and ApiVersions as columns: only the fields that rebalances need, each message read once."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from ..clients import SOFTWARE

JOIN: Final = 11
SYNC: Final = 14
BEAT: Final = 68

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


def readable() -> Column:
    """Is the assignment that a SyncGroup was answered known? One without a byte says that the member has nothing."""
    return F.col("inside").isNotNull() | (F.col("said.assignment") == "")


def claims() -> Column:
    """What a JoinGroup says to hold, by protocol in its order: [{name, held}]."""

    def one(each: Column, place: Column) -> Column:
        path = F.concat(F.lit("protocols["), place, F.lit("].metadata"))
        return F.struct(each["name"].alias("name"), claimed(path).alias("held"))

    return F.transform("said.protocols", one)


def round_claims() -> Column:
    """What the leader's answer to JoinGroup has of everybody's claims: [{member_id, held}]."""

    def one(each: Column, place: Column) -> Column:
        path = F.concat(F.lit("members["), place, F.lit("].metadata"))
        return F.struct(each["member_id"].alias("member_id"), claimed(path).alias("held"))

    return F.transform("said.members", one)


def told() -> Column:
    """What a SyncGroup with assignments tells each member: [{member_id, held, asked_back}]; null where nothing of it was decoded."""

    def one(each: Column, place: Column) -> Column:
        path = F.concat(F.lit("assignments["), place, F.lit("].assignment"))
        return F.struct(each["member_id"].alias("member_id"), assigned(path).alias("held"), asked_back(path).alias("asked_back"))

    return F.when(F.col("inside").isNotNull(), F.transform("said.assignments", one))


def given() -> Column:
    """What a SyncGroup's answer has: all that the member holds from now on."""
    return assigned(F.lit("assignment"))


def may_have() -> Column:
    """What a heartbeat's answer says that its member may have; null: it says nothing. Topics by their ids."""
    told = F.from_json("said.assignment", TOPICS)["topic_partitions"]
    topics = F.transform(told, lambda each: F.struct(each["topic_id"].alias("topic"), each["partitions"].alias("partitions")))
    return F.when(F.col("said.assignment").isNotNull(), flat(topics))


def flat(partitions: Column) -> Column:
    """[{topic, [number]}] -> HELD, each once; null is nothing."""
    each = F.transform(
        F.coalesce(partitions, F.array().cast(PARTITIONS)),
        lambda topic: F.transform(topic["partitions"], lambda number: F.concat(topic["topic"], F.lit("-"), number.cast("string"))),
    )
    return F.array_distinct(F.flatten(each))


def at(path: Column, field: str = "") -> Column:
    """What was decoded at that path of the message, or in a field of it."""
    return F.element_at("inside", F.concat(path, F.lit(field)) if field else path)


def claimed(path: Column) -> Column:
    """What a member says it holds, by its metadata at that path: the design's own list where there is one, else KIP-429's."""
    stock, carried, data = at(path), at(path, ".user_data"), at(path, ".partition_assignor_data")
    literal = F.array_union(flat(stock["owned_partitions"]), flat(data["owned"]))
    return F.when(carried.isNotNull(), flat(carried["assigned_topic_partitions"])).otherwise(literal)


def assigned(path: Column) -> Column:
    """All that an Assignment at that path lets a member hold. A literal one of a design has its list by another name."""
    stock = at(path)
    return flat(F.coalesce(stock["assigned_partitions"], stock["assigned_topic_partitions"]))


def asked_back(path: Column) -> Column:
    """struct<design, revoked (how many), timeout_ms> of a design's Assignment at that path; null: it is none."""
    stock, carried = at(path), at(path, ".user_data")
    found = F.when(carried.isNotNull(), carried).when(stock["revoke_topic_partitions"].isNotNull(), stock)
    told = F.struct(
        found["version"].alias("design"),
        F.size(flat(found["revoke_topic_partitions"])).alias("revoked"),
        F.coalesce(found["scheduled_rebalance_timeout"], F.lit(0)).cast("bigint").alias("timeout_ms"),
    )
    return F.when(found.isNotNull(), told)
