"""Find records that a group fetched again, from the positions in its Fetch requests.

A client that asks for offset 40 of a partition, and had asked for offset 10 on the same connection before, has received 10 to 39. Records
below the highest offset that any member of the group had received before count as fetched again.
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
"""Fields of a Fetch request and of the requests that name a group."""


def refetched(rows: DataFrame) -> DataFrame:
    """Return per run the records that its groups fetched again: `fetched` is an array of {group, again} for groups whose Fetch requests are
    known. `again` is an ordered array of {seq, records}; an empty array means that nothing was fetched again.

    A Fetch request names no group. It belongs to the group of its client id, if that client id appears in one group only.
    """
    own = Window.partitionBy("run", "connection", "topic", "partition").orderBy("seq")
    stepped = _positions(_attributed(rows)).withColumn("since", F.lag("offset").over(own))
    ahead = F.when(F.col("offset") > F.col("since"), F.col("offset"))
    before = Window.partitionBy("run", "group", "topic", "partition").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    stepped = stepped.withColumn("got", F.max(ahead).over(before))
    # The result must stay null if nothing was fetched, but `least` ignores nulls.
    records = F.when(F.col("got").isNotNull(), F.least("offset", "got")) - F.col("since")
    steps = stepped.withColumn("records", F.when(ahead.isNotNull() & (records > 0), records))
    again = F.when(F.col("records") > 0, F.struct("seq", "records"))
    groups = steps.groupBy("run", "group").agg(F.sort_array(F.collect_list(again)).alias("again"))
    return groups.groupBy("run").agg(F.collect_list(F.struct("group", "again")).alias("fetched"))


def _attributed(rows: DataFrame) -> DataFrame:
    """Select the Fetch requests with the group of their client id: run, connection, seq, group, `topics`. Shuffles once, by run."""
    asks = (F.col("kind") == "request") & F.col("api_key").isin(FETCH, *MEMBERS_APIS) & F.col("client_id").isNotNull()
    said = F.from_json("message", MESSAGE, {"mode": "PERMISSIVE"})
    read = rows.where(asks).select("run", "connection", "client_id", "seq", "api_key", said.alias("said")).repartition("run")
    group, client = F.when(F.col("api_key") != FETCH, F.col("said.group_id")), Window.partitionBy("run", "client_id")
    known = read.withColumns({"group": F.min(group).over(client), "other": F.max(group).over(client)})
    sure = known.where((F.col("api_key") == FETCH) & (F.col("group") == F.col("other")))
    return sure.select("run", "connection", "seq", "group", "said.topics")


def _positions(fetches: DataFrame) -> DataFrame:
    """Return one line per partition in a Fetch request: run, group, connection, seq, topic (its name, else its id), partition, offset."""
    kept = ("run", "group", "connection", "seq")
    each = fetches.select(*kept, F.explode("topics").alias("topic"))
    name = F.coalesce(F.nullif("topic.topic", F.lit("")), "topic.topic_id")
    flat = each.select(*kept, name.alias("topic"), F.explode("topic.partitions").alias("part"))
    return flat.select(*kept, "topic", "part.partition", F.col("part.fetch_offset").alias("offset"))
