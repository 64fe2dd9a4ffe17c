"""Conditions of a wait for a share group: how many records its members have, and how often a record was delivered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..core.steering.find import listed
from ..text.printable import printable
from .wait_condition import Condition, Sight

if TYPE_CHECKING:
    from ..core.share.share_partition import SharePartition


def acquired(most: int) -> Condition:
    """Return the condition that members have at most so many records."""

    def lacks(sight: Sight) -> str | None:
        held = [(partition, sum(partition.states.held.values())) for partition in _partitions(sight)]
        count = sum(number for _, number in held)
        if count <= most:
            return None
        return f"acquired {most} or less: it is {count} ({listed([f'{_name(each)} {number}' for each, number in held if number])})"

    return Condition(f"acquired {most}", lacks, reads_offsets=True)


def deliveries(least: int) -> Condition:
    """Return the condition that a record which is not done was delivered at least so often."""

    def lacks(sight: Sight) -> str | None:
        found = [
            (run.count, partition, run.first)
            for partition in _partitions(sight)
            for batch in partition.states.batches
            for run in batch.runs
            if not run.done
        ]
        if not found:
            return f"deliveries {least} or more: no record is in flight"
        count, partition, offset = max(found, key=lambda each: each[0])
        return None if count >= least else f"deliveries {least} or more: the most are {count} (record {offset} of {_name(partition)})"

    return Condition(f"deliveries {least}", lacks, reads_offsets=True)


def _partitions(sight: Sight) -> Iterator[SharePartition]:
    return iter(sight.cluster.shares.of_group(sight.group_id))


def _name(partition: SharePartition) -> str:
    return f"{printable(partition.place.topic)}/{partition.place.partition}"
