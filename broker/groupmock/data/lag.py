"""Computes the lag of a group from committed offsets, end offsets and owners, as kafka-consumer-groups.sh --describe shows it.

A share group has the start offsets of share partitions in place of committed offsets: kafka-share-groups.sh --describe shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from ..core.share.stored import NEVER_WRITTEN

if TYPE_CHECKING:
    from ..core.cluster import Cluster
    from ..core.groups.view import GroupView, MemberView
    from ..core.log.partition import Partition


MOST_MARKERS: Final = 1000
"""The largest number of offsets at the end of a log in which the last record is searched."""


class PartitionLag(msgspec.Struct):
    """The lag of one partition. `committed` is null without a commit; of a share group it is the start offset that was stored with the
    latest acknowledgement, and `lag` leaves out the records behind it that are done. `end_offset` is null for a partition that no longer
    exists. `lag` is null if it is unknown: for a missing partition, or for one with records and without a commit, because the client's
    auto.offset.reset decides what it reads (kafka-consumer-groups.sh shows "-"). `member_id`, `client_id` and `client_host` are the
    owner's, null without one."""

    topic: str
    partition: int
    committed: int | None
    end_offset: int | None
    lag: int | None
    member_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None


class GroupLag(msgspec.Struct):
    """The lag of a group. `lag` is the sum over its partitions, null while it is unknown for one of them, and for a group without
    partitions and commits."""

    group_id: str
    state: str
    lag: int | None
    partitions: list[PartitionLag]


def lag_of(cluster: Cluster, view: GroupView) -> GroupLag:
    """Return the lag of a group in the partitions that it has committed or owns, in order."""
    holders = {(topic, index): member for member in view.members for topic, all_of in member.assignment.items() for index in all_of}
    committed = {(topic, index): offset for topic, all_of in view.offsets.items() for index, offset in all_of.items()}
    rows = [_row(cluster, at, committed.get(at), holders.get(at)) for at in sorted({*holders, *committed})]
    if view.protocol_type == "share":
        rows = _share_rows(cluster, view.group_id, holders)
    lags = [row.lag for row in rows if row.end_offset is not None]
    known = [lag for lag in lags if lag is not None]
    return GroupLag(view.group_id, view.state, sum(known) if known and len(known) == len(lags) else None, rows)


def readable_end(partition: Partition) -> int:
    """Return the offset after the last record that a consumer can get, behind which there are only transaction markers."""
    end = partition.end
    if partition.producers.transactions is None:  # No transaction was ever written in this partition.
        return end
    for batch in reversed(list(partition.batches(end - MOST_MARKERS))):
        if not batch.control:
            break
        end = batch.base_offset
    return end


def lag_of_markers(cluster: Cluster, lag: GroupLag) -> list[PartitionLag]:
    """Return the partitions whose lag consists only of transaction markers."""
    only_markers = []
    for row in lag.partitions:
        partition = cluster.topics.find(row.topic, row.partition)
        if row.lag and row.committed is not None and partition is not None and row.committed >= readable_end(partition):
            only_markers.append(row)
    return only_markers


def _row(cluster: Cluster, at: tuple[str, int], committed: int | None, holder: MemberView | None) -> PartitionLag:
    partition = cluster.topics.find(*at)
    row = PartitionLag(*at, committed, None, None)
    if partition is not None:
        row.end_offset = partition.end
        if committed is not None:
            row.lag = max(0, partition.end - committed)
        elif partition.start == partition.end:
            row.lag = 0  # The log is empty, so a consumer has nothing to read wherever auto.offset.reset makes it begin.
    if holder is not None:
        row.member_id, row.client_id, row.client_host = holder.member_id, holder.client_id, holder.client_host
    return row


def _share_rows(cluster: Cluster, group_id: str, holders: dict[tuple[str, int], MemberView]) -> list[PartitionLag]:
    """Return a row for each partition that is assigned, or whose start offset is stored. Several members may have a partition: the last
    of them is named."""
    stored = {
        (name, index): state.start_offset
        for (topic_id, index), state in cluster.shares.states.of_group(group_id).items()
        if (name := cluster.topics.name_of(topic_id)) is not None
    }
    rows = []
    for at in sorted({*holders, *stored}):
        start = stored.get(at, NEVER_WRITTEN)
        row = _row(cluster, at, None if start == NEVER_WRITTEN else start, holders.get(at))
        if row.lag is not None and row.committed is not None:
            row.lag = cluster.shares.lag(group_id, cluster.topics.topic_id(at[0]) or b"", at[1])
        rows.append(row)
    return rows
