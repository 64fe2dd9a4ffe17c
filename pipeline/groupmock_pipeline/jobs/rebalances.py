"""Write one line per rebalance: its cause, its members, its duration, and the partitions that it moved or left without an owner.

The job reads the tables `rows` and `runs`, and writes the table `rebalances`. A rebalance lasts from the time when a group leaves Stable or
Empty until the group is Stable, Empty or Dead; for a consumer group (KIP-848) it lasts from a new group epoch until all members have it
(docs/reference/pipeline/rebalances.md describes every column).
"""

from __future__ import annotations

import argparse
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from .. import tables
from ..rebalance.convergence import converged
from ..rebalance.delivery import undelivered
from ..rebalance.events import OF_LEDGER, events
from ..rebalance.moves import moves
from ..rebalance.partitions import MOVED, OWNED, counted
from ..rebalance.summary import lines
from ..windows import OF_GROUP

COLUMNS: Final = {
    "day": "of the run's begin",
    "run": "key of the run",
    "group": "group id",
    "rebalance": "number of the rebalance in that group and run, from 1",
    "generation_before": "generation (of a consumer group: group epoch) that it began in",
    "generation_after": "generation or group epoch that it ended in",
    "started_at": "when the group left Stable or Empty, ns since 1970",
    "ended_at": "when it ended, ns since 1970",
    "ended": "stable, empty, dead, or journal's end: it was under way when the journal ended",
    "trigger": "class of the cause",
    "reason": "the coordinator's sentence about the begin",
    "command": "the steering command that began it",
    "members_before": "members before; null: the journal does not say",
    "members_after": "members at the end",
    "added": "members that came",
    "removed": "members that went",
    "joins": "JoinGroups, or heartbeats with epoch 0, that were taken",
    "phases": "how often JoinGroups were collected, or how many group epochs came: above 1 where it began anew before it was Stable",
    "convergence": "number of the first rebalance of the convergence that this one belongs to",
    "round": "place in that convergence, from 1",
    "rounds": "phases of the whole convergence",
    "preparing_ns": "time in PreparingRebalance or Assigning",
    "completing_ns": "time in CompletingRebalance or Reconciling",
    "backwards": "the clock went back in it: times were cut to 0",
    "leader": "member id of the leader in the last generation; null: nobody leads a consumer group",
    "protocol_type": "consumer, connect, ...",
    "protocol": "the assignor that was voted for, or by which the coordinator assigned",
    "design": "how partitions change hands",
    "last_member_id": "the last member that joined or reached the target",
    "last_client_id": "its client id",
    "last_library": "its library by ApiVersions, or unknown",
    "last_version": "the library's version",
    "last_after_ns": "how long after the begin it joined, or came",
    "libraries": "library and version of everybody who joined",
    "partitions": "partitions that were assigned (in a consumer group: assigned to a member that did not have them); "
    "null: the assignment is not known",
    "moved": "partitions assigned to another member id than had them last",
    "moved_processes": "partitions assigned to another process (instance id or client id) than had them last",
    "revoked": "partitions that members were asked to give up",
    "again_ms": "the longest time after which a member must join again, 0: none",
    "unowned": "how often a partition lost its owner in it and had one again later; null: not known",
    "unowned_ns": "partition-ns without an owner, from the loss until somebody had it",
    "abandoned": "partitions that lost their owner in it and have none until the journal's end",
    "abandoned_ns": "partition-ns from then to the journal's end",
    "undelivered_ns": "partition-ns in which records waited around it; null: the journal has no Fetch of the group's clients",
}
"""The columns of table `rebalances` in order, with their descriptions."""


def run(spark: SparkSession, arguments: argparse.Namespace) -> None:
    """Add the lines of new runs to table `rebalances`."""
    tables.grow(spark, arguments.input, arguments.output, "rebalances", rebalances, OF_LEDGER)


def rebalances(rows: DataFrame) -> DataFrame:
    """Make table `rebalances` of table `rows`, in which each row has the columns OF_LEDGER of its run's line in `runs`. Rows are read
    once and shuffled once, by run, and nothing is cached."""
    found = undelivered(counted(moves(lines(events(rows)))), rows)
    # Only assignments of the protocol type `consumer` can be parsed.
    heard = f"protocol_type in ('consumer', 'streams') and max(heard) over ({OF_GROUP})"
    told = found.selectExpr(
        f"* except ({', '.join((*MOVED, *OWNED))})",
        *(f"case when revoked is not null then {name} end as {name}" for name in MOVED),
        *(f"case when {heard} then {name} end as {name}" for name in OWNED),
    )
    return converged(told.where("started_at is not null")).selectExpr(*(f"`{name}`" for name in COLUMNS))
