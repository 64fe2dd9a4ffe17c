"""JoinGroup, SyncGroup and LeaveGroup as columns: request and answer side by side, only the fields that rebalances need."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

JOIN: Final = 11
LEAVE: Final = 13
SYNC: Final = 14

PARTITIONS: Final = "array<struct<topic: string, partitions: array<int>>>"
MESSAGE: Final = (
    "struct<group_id: string, generation_id: bigint, member_id: string, protocol_type: string, protocol_name: string, leader: string,"
    " session_timeout_ms: bigint, rebalance_timeout_ms: bigint,"
    " assignment: string,"
    " protocols: array<struct<name: string>>, members: array<struct<member_id: string>>, assignments: array<struct<member_id: string>>>"
)
"""The union of the fields of both directions; what a message does not have is null."""
INSIDE: Final = (
    "map<string, struct<"
    f"version: int, topics: array<string>, owned_partitions: {PARTITIONS}, assigned_topic_partitions: {PARTITIONS}, owned: {PARTITIONS},"
    f" assigned_partitions: {PARTITIONS}, revoke_topic_partitions: {PARTITIONS}, scheduled_rebalance_timeout: bigint>>"
)
"""`embedded`: path -> what was decoded there, stock or one of the designs' (docs/how-to/cooperative.md)."""
_LENIENT: Final = {"mode": "PERMISSIVE"}


def exchanges(rows: DataFrame) -> DataFrame:
    """One line per request of the three APIs: where and when it was handled (line, at) and answered (answer_line, answer_at; null: never).

    `asked`, `answer`: MESSAGE; `inside`, `answer_inside`: INSIDE; `member_id`: as sent or, where the coordinator drew it, as answered;
    `accepted`: an answer without an error, or none so far.
    """
    asked = rows.where((F.col("kind") == "request") & F.col("api_key").isin(JOIN, LEAVE, SYNC)).select(
        "day", "run", "ticket", "line", "at", "connection", "client_id", "api_key",
        F.from_json("message", MESSAGE, _LENIENT).alias("asked"), F.from_json("embedded", INSIDE, _LENIENT).alias("inside"),
    )  # fmt: skip
    answered = rows.where((F.col("kind") == "reply") & F.col("api_key").isin(JOIN, SYNC)).select(
        "run", "ticket", F.col("line").alias("answer_line"), F.col("at").alias("answer_at"), "error", "delivered",
        F.from_json("message", MESSAGE, _LENIENT).alias("answer"), F.from_json("embedded", INSIDE, _LENIENT).alias("answer_inside"),
    )  # fmt: skip
    both = asked.join(answered, ["run", "ticket"], "left")
    own = F.nullif(F.col("asked.member_id"), F.lit(""))
    return both.where(F.col("asked.group_id").isNotNull()).withColumns(
        {
            "group": F.col("asked.group_id"),
            "member_id": F.coalesce(own, F.nullif(F.col("answer.member_id"), F.lit(""))),
            "accepted": F.col("error").isNull(),
        }
    )


def flat(partitions: Column) -> Column:
    """[{topic, [number]}] -> sorted [{topic, number}], each once; null is nothing."""
    each = F.transform(
        F.coalesce(partitions, F.array().cast(PARTITIONS)),
        lambda topic: F.transform(topic["partitions"], lambda number: F.struct(topic["topic"].alias("topic"), number.alias("number"))),
    )
    return F.array_sort(F.array_distinct(F.flatten(each)))


def claimed(inside: Column, path: Column) -> Column:
    """What a member says it holds, by its metadata at that path: the design's own list where there is one, else KIP-429's."""
    stock, carried = F.element_at(inside, path), F.element_at(inside, F.concat(path, F.lit(".user_data")))
    data = F.element_at(inside, F.concat(path, F.lit(".partition_assignor_data")))
    literal = F.array_sort(F.array_union(flat(stock["owned_partitions"]), flat(data["owned"])))
    return F.when(carried.isNotNull(), flat(carried["assigned_topic_partitions"])).otherwise(literal)


def assigned(inside: Column, path: Column) -> Column:
    """All that an Assignment at that path lets a member hold. A literal one of a design has its list by another name."""
    stock = F.element_at(inside, path)
    return flat(F.coalesce(stock["assigned_partitions"], stock["assigned_topic_partitions"]))


def asked_back(inside: Column, path: Column) -> Column:
    """struct<design, revoked, timeout_ms> of a design's Assignment at that path; null: it is none."""
    stock, carried = F.element_at(inside, path), F.element_at(inside, F.concat(path, F.lit(".user_data")))
    found = F.when(carried.isNotNull(), carried).when(stock["revoke_topic_partitions"].isNotNull(), stock)
    told = F.struct(
        found["version"].alias("design"),
        flat(found["revoke_topic_partitions"]).alias("revoked"),
        F.coalesce(found["scheduled_rebalance_timeout"], F.lit(0)).cast("bigint").alias("timeout_ms"),
    )
    return F.when(found.isNotNull(), told)
