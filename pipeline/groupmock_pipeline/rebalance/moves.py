"""What a rebalance's assignment says against the ones before: partitions that moved, what was asked back, which design it was."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from .summary import KEY

UUID: Final = r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
"""What the coordinator appends to a client id or instance id to make a member id."""
BY_PROTOCOL: Final = {
    "range": "eager", "roundrobin": "eager", "sticky": "eager", "cooperative-sticky": "kip-429",
    "coop-d1": "design-1", "coop-d2": "design-2", "coop-d2-literal": "design-2", "coop-d3": "design-3",
}  # fmt: skip
CONNECT: Final = {"default": "connect-eager", "compatible": "connect-cooperative", "sessioned": "connect-cooperative"}
COOPERATIVE: Final = ("kip-429", "design-1", "design-2", "design-3", "connect-cooperative")


def moves(lines: DataFrame) -> DataFrame:
    """KEY, partitions (assigned), moved (to another member id than had it last), moved_processes (to another process), revoked (asked
    back), again_ms (the longest time after which members are told to come back), told_design: one line per rebalance whose assignment is
    known."""
    shares = _shares(lines)
    asked = shares.groupBy(*KEY).agg(
        F.sum("revoked").alias("revoked"), F.max("again_ms").alias("again_ms"), F.max("told_design").alias("told_design")
    )
    return asked.join(_moved(shares), list(KEY), "left").fillna(0, ["partitions", "moved", "moved_processes"])


def _shares(lines: DataFrame) -> DataFrame:
    """One line per member that was told something: KEY, member_id, process, held, revoked, again_ms, told_design."""
    known = lines.where(F.col("told").isNotNull())
    told = known.select(*KEY, F.explode("told").alias("each")).select(*KEY, "each.*")
    claims = known.select(*KEY, F.explode("round_claims").alias("each")).select(
        *KEY, F.col("each.member_id").alias("member_id"), F.col("each.held").alias("claimed")
    )
    both = told.unionByName(claims, allowMissingColumns=True).groupBy(*KEY, "member_id")
    shares = both.agg(*(F.max(name).alias(name) for name in ("held", "asked_back", "claimed"))).where(F.col("held").isNotNull())
    given_up = F.coalesce(F.size("asked_back.revoked"), F.size(F.array_except("claimed", "held")), F.lit(0))
    name = F.regexp_replace("member_id", UUID, "")
    alone = F.count(F.lit(1)).over(Window.partitionBy(*KEY, name)) == 1
    return shares.select(
        *KEY, "member_id", F.when(alone, name).otherwise(F.col("member_id")).alias("process"), "held", given_up.alias("revoked"),
        F.coalesce("asked_back.timeout_ms", F.lit(0)).alias("again_ms"), F.col("asked_back.design").alias("told_design"),
    )  # fmt: skip


def _moved(shares: DataFrame) -> DataFrame:
    each = shares.select(*KEY, "member_id", "process", F.explode("held").alias("partition"))
    past = Window.partitionBy("run", "group", "partition").orderBy("rebalance", "member_id")
    had = each.withColumns({"had": F.lag("member_id").over(past), "had_process": F.lag("process").over(past)})
    return had.groupBy(*KEY).agg(
        F.count(F.lit(1)).alias("partitions"),
        F.count_if(F.col("had") != F.col("member_id")).alias("moved"),
        F.count_if((F.col("had") != F.col("member_id")) & (F.col("had_process") != F.col("process"))).alias("moved_processes"),
    )


def design() -> Column:
    """How partitions change hands, by what was told (1 to 3) or the assignor's name; `other`: a name that is not known."""
    named = F.create_map(*(F.lit(word) for pair in BY_PROTOCOL.items() for word in pair))
    connect = F.create_map(*(F.lit(word) for pair in CONNECT.items() for word in pair))
    told = F.when(F.col("told_design").between(1, 3), F.concat(F.lit("design-"), F.col("told_design").cast("string")))
    by_name = F.when(F.col("protocol_type") == "connect", connect[F.col("protocol")]).otherwise(named[F.col("protocol")])
    return F.when(F.col("protocol").isNotNull(), F.coalesce(told, by_name, F.lit("other")))
