"""What a rebalance's assignment says against the ones before: partitions that moved, what was asked back, which design it was."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from .ownership import part

UUID: Final = r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
"""What the coordinator appends to a client id or instance id to make a member id."""
BY_PROTOCOL: Final = {
    "range": "eager", "roundrobin": "eager", "sticky": "eager", "cooperative-sticky": "kip-429",
    "coop-d1": "design-1", "coop-d2": "design-2", "coop-d2-literal": "design-2", "coop-d3": "design-3",
}  # fmt: skip
CONNECT: Final = {"default": "connect-eager", "compatible": "connect-cooperative", "sessioned": "connect-cooperative"}
BY_TARGET: Final = "kip-848"
"""The coordinator assigns, and members follow."""
COOPERATIVE: Final = ("kip-429", "design-1", "design-2", "design-3", "connect-cooperative")


def moves(lines: DataFrame) -> DataFrame:
    """`lines` with what is known of the assignment, null where none is: `revoked` (asked back), `again_ms` (the longest time after which
    members are told to come back), `design`, and `parts` (partitions.PART: who was told to hold what), in place of `told`, `told_line`,
    `round_claims`, `dealt` and `classic`."""
    shared = lines.withColumn("_names", _names()).withColumn("_shares", _shares())
    known = {
        "revoked": _sum(F.when(F.col("classic"), F.col("_shares.revoked")).otherwise(F.col("dealt.revoked"))),
        "again_ms": F.array_max("_shares.again_ms"),
        "told_design": F.array_max("_shares.told_design"),
        "parts": F.when(F.col("classic"), F.coalesce(F.flatten(F.transform("_shares", _parts)), F.array())).otherwise(
            F.flatten(F.transform("dealt", _given))
        ),
    }
    told = shared.withColumns(known).withColumn("design", design())
    return told.drop("told", "told_line", "round_claims", "dealt", "classic", "told_design", "_names", "_shares")


def _sum(numbers: Column) -> Column:
    return F.aggregate(numbers, F.lit(0).cast("bigint"), lambda total, one: total + one)


def _given(dealt: Column) -> Column:
    """What one answer to a heartbeat gave. A member id is all that is known of a process: clients draw it anew when they start."""
    return F.transform(dealt["given"], lambda each: part(each, dealt["line"], dealt["member_id"], process=dealt["member_id"]))


def _names() -> Column:
    """Of everybody who was told something, in that order: the member id without its UUID."""
    return F.transform("told", lambda each: F.regexp_replace(each["member_id"], UUID, ""))


def _shares() -> Column:
    """[{member_id, process, held, revoked, again_ms, told_design}] for each that was told something. Claims are looked up in lists: a map
    refuses a key that comes twice."""
    who, claims = F.col("round_claims.member_id"), F.col("round_claims.held")

    def one(each: Column, place: Column) -> Column:
        claimed = F.get(claims, F.array_position(who, each["member_id"]).cast("int") - 1)
        given_up = F.coalesce(each["asked_back"]["revoked"], F.size(F.array_except(claimed, each["held"])), F.lit(0))
        name = F.get("_names", place)
        alone = F.size(F.array_remove("_names", name)) == F.size("_names") - 1
        return F.struct(
            each["member_id"].alias("member_id"), F.when(alone, name).otherwise(each["member_id"]).alias("process"),
            each["held"].alias("held"), given_up.cast("bigint").alias("revoked"),
            F.coalesce(each["asked_back"]["timeout_ms"], F.lit(0)).alias("again_ms"), each["asked_back"]["design"].alias("told_design"),
        )  # fmt: skip

    return F.transform("told", one)


def _parts(share: Column) -> Column:
    return F.transform(share["held"], lambda each: part(each, F.col("told_line"), share["member_id"], process=share["process"]))


def design() -> Column:
    """How partitions change hands, by what was told (1 to 3) or the assignor's name; `other`: a name that is not known."""
    named = F.create_map(*(F.lit(word) for pair in BY_PROTOCOL.items() for word in pair))
    connect = F.create_map(*(F.lit(word) for pair in CONNECT.items() for word in pair))
    told = F.when(F.col("told_design").between(1, 3), F.concat(F.lit("design-"), F.col("told_design").cast("string")))
    by_name = F.when(F.col("protocol_type") == "connect", connect[F.col("protocol")]).otherwise(named[F.col("protocol")])
    by_classic = F.coalesce(told, by_name, F.lit("other"))
    return F.when(F.col("protocol").isNotNull(), F.when(F.col("classic"), by_classic).otherwise(BY_TARGET))
