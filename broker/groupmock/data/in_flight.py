"""Read which records of a share group are in flight: who has them, until when, and how often they were delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groupmock_codec.units import NS_PER_MS

from ..core.share.runs import ACQUIRED, STATES

if TYPE_CHECKING:
    from ..core.cluster import Cluster


class RecordsInFlight(msgspec.Struct, frozen=True):
    """Neighbouring records in the same state: available, acquired, acknowledged or archived. `deliveries` says how often each was
    delivered; `member_id` has acquired them, and its lock ends after `lock_ms`; both are null for records that nobody has."""

    first: int
    last: int
    state: str
    deliveries: int
    member_id: str | None = None
    lock_ms: int | None = None


class SharePartitionRow(msgspec.Struct, frozen=True):
    """The state of one partition in a share group. All records before `start` are done; `end` is the offset of the first record that was
    never delivered. `acquired` counts the records that members have acquired. `lag` counts the records that are not done by the stored
    state, or is -1 if nothing was stored. `held` is True while a command holds the group's deliveries."""

    topic: str
    partition: int
    node: int
    start: int
    end: int
    acquired: int
    lag: int
    held: bool
    records: list[RecordsInFlight]


def in_flight(cluster: Cluster, group_id: str, now: int) -> list[SharePartitionRow]:
    """Return a row for each partition that members of the group fetch; `now` is the run time."""
    shares = cluster.shares
    rows = []
    for partition in sorted(shares.of_group(group_id), key=lambda each: each.place):
        states = partition.states
        records = [
            RecordsInFlight(
                run.first,
                run.last,
                STATES[run.state],
                run.count,
                run.member_id if run.state == ACQUIRED else None,
                max(0, run.deadline - now) // NS_PER_MS if run.state == ACQUIRED else None,
            )
            for batch in states.batches
            for run in batch.runs
        ]
        rows.append(
            SharePartitionRow(
                topic=partition.place.topic,
                partition=partition.place.partition,
                node=partition.node,
                start=states.start,
                end=states.end,
                acquired=sum(states.held.values()),
                lag=shares.lag(*partition.key),
                held=group_id in shares.held,
                records=records,
            )
        )
    return rows
