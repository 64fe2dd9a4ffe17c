"""How far a group is behind: what it has committed, what there is, and who reads it (kafka-consumer-groups.sh --describe)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from ..core.cluster import Cluster
    from ..core.groups.view import GroupView, MemberView
    from ..core.log.partition import Partition


MOST_MARKERS: Final = 1000
"""The most offsets at the end of a log that are searched for the last record."""


class PartitionLag(msgspec.Struct):
    """One partition. `committed` null: nothing was committed. `end_offset` null: there is no such partition any more. `lag` null: unknown,
    because there is no such partition, or because it has records and nothing was committed, so that the client's auto.offset.reset decides
    what it reads (kafka-consumer-groups.sh shows "-"). `member_id`, `client_id`, `client_host`: who it is assigned to, null where nobody
    is."""

    topic: str
    partition: int
    committed: int | None
    end_offset: int | None
    lag: int | None
    member_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None


class GroupLag(msgspec.Struct):
    """A group's lag; `lag`: of all partitions together, null where it is unknown: of a group without partitions and commits, and as long as
    the lag of one partition is unknown."""

    group_id: str
    state: str
    lag: int | None
    partitions: list[PartitionLag]


def lag_of(cluster: Cluster, view: GroupView) -> GroupLag:
    """Every partition that the group has committed or that is assigned in it, in order."""
    holders = {(topic, index): member for member in view.members for topic, all_of in member.assignment.items() for index in all_of}
    committed = {(topic, index): offset for topic, all_of in view.offsets.items() for index, offset in all_of.items()}
    rows = [_row(cluster, at, committed.get(at), holders.get(at)) for at in sorted({*holders, *committed})]
    lags = [row.lag for row in rows if row.end_offset is not None]
    known = [lag for lag in lags if lag is not None]
    return GroupLag(view.group_id, view.state, sum(known) if known and len(known) == len(lags) else None, rows)


def readable_end(partition: Partition) -> int:
    """Return where the records end that a consumer is given: behind it are only transaction markers."""
    end = partition.end
    if partition.producers.transactions is None:  # nobody ever wrote a transaction there
        return end
    for batch in reversed(list(partition.batches(end - MOST_MARKERS))):
        if not batch.control:
            break
        end = batch.base_offset
    return end


def lag_of_markers(cluster: Cluster, lag: GroupLag) -> list[PartitionLag]:
    """Return the partitions whose lag is only transaction markers."""
    found = []
    for each in lag.partitions:
        partition = cluster.topics.find(each.topic, each.partition)
        if each.lag and each.committed is not None and partition is not None and each.committed >= readable_end(partition):
            found.append(each)
    return found


def _row(cluster: Cluster, at: tuple[str, int], committed: int | None, holder: MemberView | None) -> PartitionLag:
    partition = cluster.topics.find(*at)
    row = PartitionLag(*at, committed, None, None)
    if partition is not None:
        row.end_offset = partition.end
        if committed is not None:
            row.lag = max(0, partition.end - committed)
        elif partition.start == partition.end:
            row.lag = 0  # wherever auto.offset.reset begins, there is nothing to read
    if holder is not None:
        row.member_id, row.client_id, row.client_host = holder.member_id, holder.client_id, holder.client_host
    return row
