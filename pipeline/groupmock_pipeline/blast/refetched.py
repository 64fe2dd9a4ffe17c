"""Records that a group fetched again (`strikes`): read from the positions in its Fetch requests.

A client that asks for offset 40 of a partition, and had asked for 10 on the same connection before, has got 10 to 39. What of that lies
below the highest offset that anybody of its group had got before, it got again.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

FETCH: Final = 1
MEMBERS_APIS: Final = (11, 12, 14)
"""JoinGroup, Heartbeat, SyncGroup: who sends one is in the group."""
MESSAGE: Final = "topics array<struct<topic: string, topic_id: string, partitions: array<struct<partition: bigint, fetch_offset: bigint>>>>"


def refetched(rows: DataFrame, told: DataFrame) -> DataFrame:
    """Per run and group whose members' Fetches are known: `again`, array of {seq, records}, in order; empty: nothing was fetched again.

    A Fetch names no group: it is its client id's, where that one is in one group of the run only.
    """
    of_member = (F.col("kind") == "request") & F.col("api_key").isin(*MEMBERS_APIS) & F.col("asked").isNotNull()
    clients = told.where(of_member).groupBy("run", "client_id").agg(F.min("asked").alias("group"), F.max("asked").alias("other"))
    sure = clients.where(F.col("group") == F.col("other")).drop("other")
    positions = _positions(rows).join(sure, ["run", "client_id"])
    own = Window.partitionBy("run", "connection", "topic", "partition").orderBy("seq")
    stepped = positions.withColumn("since", F.lag("offset").over(own))
    ahead = F.when(F.col("offset") > F.col("since"), F.col("offset"))
    before = Window.partitionBy("run", "group", "topic", "partition").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    records = F.least("offset", F.max(ahead).over(before)) - F.col("since")
    steps = stepped.withColumn("records", F.when(ahead.isNotNull() & (records > 0), records))
    again = F.when(F.col("records") > 0, F.struct("seq", "records"))
    return steps.groupBy("run", "group").agg(F.sort_array(F.collect_list(again)).alias("again"))


def _positions(rows: DataFrame) -> DataFrame:
    """run, connection, client_id, seq, topic (its name, else its id), partition, offset: one line per partition that a Fetch names."""
    fetches = rows.where((F.col("kind") == "request") & (F.col("api_key") == FETCH) & F.col("message").isNotNull())
    topics = F.from_json("message", MESSAGE, {"mode": "PERMISSIVE"})["topics"]
    each = fetches.select("run", "connection", "client_id", "seq", F.explode(topics).alias("topic"))
    name = F.coalesce(F.nullif("topic.topic", F.lit("")), "topic.topic_id")
    flat = each.select("run", "connection", "client_id", "seq", name.alias("topic"), F.explode("topic.partitions").alias("part"))
    return flat.select("run", "connection", "client_id", "seq", "topic", "part.partition", F.col("part.fetch_offset").alias("offset"))
