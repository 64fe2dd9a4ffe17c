"""Records that a group fetched again (`strikes`): read from the positions in its Fetch requests.

A client that asks for offset 40 of a partition, and had asked for 10 on the same connection before, has got 10 to 39. What of that lies
below the highest offset that anybody of its group had got before, it got again.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from groupmock_codec.api_keys import FETCH, HEARTBEAT, JOIN_GROUP, SYNC_GROUP

MEMBERS_APIS: Final = (JOIN_GROUP, HEARTBEAT, SYNC_GROUP)
"""A connection that sends one of these requests belongs to a member of the group."""
PARTITIONS: Final = "array<struct<partition: bigint, fetch_offset: bigint>>"
MESSAGE: Final = f"group_id string, topics array<struct<topic: string, topic_id: string, partitions: {PARTITIONS}>>"
"""What those of a member have, and a Fetch."""


def refetched(rows: DataFrame) -> DataFrame:
    """Per run `fetched`, array of {group, again}, for groups whose members' Fetches are known: `again`, array of {seq, records}, in order;
    empty: nothing was fetched again.

    A Fetch names no group: it is its client id's, where that one is in one group of the run only.
    """
    own = Window.partitionBy("run", "connection", "topic", "partition").orderBy("seq")
    stepped = _positions(_attributed(rows)).withColumn("since", F.lag("offset").over(own))
    ahead = F.when(F.col("offset") > F.col("since"), F.col("offset"))
    before = Window.partitionBy("run", "group", "topic", "partition").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    stepped = stepped.withColumn("got", F.max(ahead).over(before))
    records = F.when(F.col("got").isNotNull(), F.least("offset", "got")) - F.col("since")  # `least` passes over null
    steps = stepped.withColumn("records", F.when(ahead.isNotNull() & (records > 0), records))
    again = F.when(F.col("records") > 0, F.struct("seq", "records"))
    groups = steps.groupBy("run", "group").agg(F.sort_array(F.collect_list(again)).alias("again"))
    return groups.groupBy("run").agg(F.collect_list(F.struct("group", "again")).alias("fetched"))


def _attributed(rows: DataFrame) -> DataFrame:
    """Fetches with the group of their client id: run, connection, seq, group, `topics`. The only shuffle, by run."""
    asks = (F.col("kind") == "request") & F.col("api_key").isin(FETCH, *MEMBERS_APIS) & F.col("client_id").isNotNull()
    said = F.from_json("message", MESSAGE, {"mode": "PERMISSIVE"})
    read = rows.where(asks).select("run", "connection", "client_id", "seq", "api_key", said.alias("said")).repartition("run")
    group, client = F.when(F.col("api_key") != FETCH, F.col("said.group_id")), Window.partitionBy("run", "client_id")
    known = read.withColumns({"group": F.min(group).over(client), "other": F.max(group).over(client)})
    sure = known.where((F.col("api_key") == FETCH) & (F.col("group") == F.col("other")))
    return sure.select("run", "connection", "seq", "group", "said.topics")


def _positions(fetches: DataFrame) -> DataFrame:
    """run, group, connection, seq, topic (its name, else its id), partition, offset: one line per partition that a Fetch names."""
    kept = ("run", "group", "connection", "seq")
    each = fetches.select(*kept, F.explode("topics").alias("topic"))
    name = F.coalesce(F.nullif("topic.topic", F.lit("")), "topic.topic_id")
    flat = each.select(*kept, name.alias("topic"), F.explode("topic.partitions").alias("part"))
    return flat.select(*kept, "topic", "part.partition", F.col("part.fetch_offset").alias("offset"))
