"""Commands for records that members of a share group have acquired: end their locks, release or archive them, or deliver no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from ..share import causes
from ..share.runs import ACQUIRED, Run
from ..share.share_partition import SharePartition
from .find import check_partition, listed
from .register import Arguments, BadArguments, Group, NoSuch, NotNow, TopicName, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..turn import Turn

Index = Annotated[int, Meta(description="partition of the topic", ge=0)]
Offset = Annotated[int, Meta(description="offset of a record", ge=0)]
ShareMember = Annotated[str, Meta(description="id of the member that has acquired the records", min_length=1)]


def _partitions(cluster: Cluster, group_id: str) -> list[SharePartition]:
    """Return the share partitions of a group that are in memory. Raises NoSuch if members of the group have fetched nothing."""
    found = cluster.shares.of_group(group_id)
    if not found:
        groups = sorted({each.place.group_id for each in cluster.shares.partitions.values()})
        raise NoSuch(f"no member of share group {group_id!r} fetches: there are {listed(groups)}")
    return found


class ExpireLocks(Arguments):
    """End the locks of records that members of a share group have acquired, as after share.record.lock.duration.ms: they are available
    again, or archived after their last delivery. Restrict it to a topic, a partition, a member, or the records from `first` to `last`."""

    group: Group
    topic: TopicName | None = None
    partition: Index | None = None
    member: ShareMember | None = None
    first: Offset = 0
    last: Annotated[Offset | None, Meta(description="offset of the last record; null: all")] = None


@steers("expire_locks", ExpireLocks)
def expire_locks(cluster: Cluster, arguments: ExpireLocks, turn: Turn) -> None:
    """End the locks of the named records now, so that waiting fetches may acquire them."""
    _free(cluster, arguments, turn, causes.EXPIRY_ORDERED)


def _free(cluster: Cluster, arguments: ExpireLocks, turn: Turn, why: causes.Why) -> None:
    def chosen(run: Run) -> bool:
        named = arguments.member in (None, run.member_id)
        return run.state == ACQUIRED and named and run.first >= arguments.first and (arguments.last is None or run.last <= arguments.last)

    freed = False
    for partition in _partitions(cluster, arguments.group):
        if arguments.topic in (None, partition.place.topic) and arguments.partition in (None, partition.place.partition):
            cut_at(partition, arguments.first, arguments.last)
            freed |= cluster.shares.free(turn, partition, chosen, why)
    if not freed:
        raise NotNow(f"share group {arguments.group!r} has no such record in flight: {_holders(cluster, arguments.group)}")


def cut_at(partition: SharePartition, first: int, last: int | None) -> None:
    """Split the runs of records where the records that a command names begin and end."""
    for batch in partition.states.overlapping(first, first if last is None else last):
        start, stop = max(batch.first, first), batch.last if last is None else min(batch.last, last)
        partition.states.split(batch, start, stop)


def _holders(cluster: Cluster, group_id: str) -> str:
    held = [
        f"{member} has {count} of {partition.place.topic}/{partition.place.partition}"
        for partition in cluster.shares.of_group(group_id)
        for member, count in partition.states.held.items()
    ]
    return f"{listed(held)}" if held else "nobody has any"


class ReleaseRecords(Arguments):
    """Release all records that a member of a share group has acquired, as at the end of its share session, which goes on."""

    group: Group
    member: ShareMember


@steers("release_records", ReleaseRecords)
def release_records(cluster: Cluster, arguments: ReleaseRecords, turn: Turn) -> None:
    """Make the records of a member available again."""
    _free(cluster, ExpireLocks(group=arguments.group, member=arguments.member), turn, causes.RELEASE_ORDERED)


class ArchiveRecords(Arguments):
    """Archive records of a share group, so that they are never delivered again. They must have been delivered before, and not be done."""

    group: Group
    topic: TopicName
    partition: Index
    first: Offset
    last: Offset


@steers("archive_records", ArchiveRecords)
def archive_records(cluster: Cluster, arguments: ArchiveRecords, turn: Turn) -> None:
    """Archive records that are available or acquired."""
    check_partition(cluster, arguments.topic, arguments.partition)
    if arguments.last < arguments.first:
        raise BadArguments(f"archive_records: last {arguments.last} is before first {arguments.first}")
    for partition in _partitions(cluster, arguments.group):
        if (partition.place.topic, partition.place.partition) == (arguments.topic, arguments.partition):
            if cluster.shares.archive(turn, partition, arguments.first, arguments.last):
                return
            break
    raise NotNow(
        f"share group {arguments.group!r} has no record from {arguments.first} to {arguments.last} of {arguments.topic}/"
        f"{arguments.partition} that was delivered and is not done"
    )


class HoldDeliveries(Arguments):
    """Deliver no records to a share group until deliveries are resumed: its fetches wait, and are answered without records."""

    group: Group


@steers("hold_deliveries", HoldDeliveries)
def hold_deliveries(cluster: Cluster, arguments: HoldDeliveries, turn: Turn) -> None:
    """Hold the deliveries of a group, which need not exist yet."""
    cluster.shares.held.add(arguments.group)


class ResumeDeliveries(Arguments):
    """Deliver records to a share group again. Waiting fetches get what there is."""

    group: Group


@steers("resume_deliveries", ResumeDeliveries)
def resume_deliveries(cluster: Cluster, arguments: ResumeDeliveries, turn: Turn) -> None:
    """Resume the deliveries of a group. A group whose deliveries are not held does not change."""
    cluster.shares.held.discard(arguments.group)
    for partition in cluster.shares.of_group(arguments.group):
        cluster.shares.fetches.changed_for(turn, partition)
