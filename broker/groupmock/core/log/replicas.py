"""Determines which replicas of a partition are in sync or offline, and which may lead next.

A replica is in sync while its node runs and no command keeps it behind (`Partition.lagging`). Kafka takes it out of the ISR
replica.lag.time.max.ms after it fell behind; here that happens at once. Only an in-sync replica is elected
(unclean.leader.election.enable=false).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Final

from ..work import AT_ONCE
from .placement import NO_LEADER

if TYPE_CHECKING:
    from ..environment import Environment
    from .partition import Partition


PARTITIONS_AT_ONCE: Final = AT_ONCE // 4
"""The largest number of partitions that are created in one step."""


def new_partitions(environment: Environment, replicas: Sequence[list[int]], first: int = 0) -> Generator[None, None, list[Partition]]:
    """Create a partition for each checked replica list, in steps, numbered from `first`. The first of a partition's replicas that runs
    leads it."""
    from .partition import Partition  # This import is late, because a server starts without partitions.

    made = []
    for index, nodes in enumerate(replicas, first):
        partition = Partition(index, nodes, environment.epoch_ms)
        if len(environment.up) < len(environment.identity.nodes):
            partition.leader = elected(environment, partition)
        made.append(partition)
        if not len(made) % PARTITIONS_AT_ONCE:
            yield
    return made


def may_lead(environment: Environment, partition: Partition, node: int) -> bool:
    """True if the node is up and its replica has the whole log."""
    return node not in partition.lagging and any(each.node_id == node for each in environment.up)


def in_sync(environment: Environment, partition: Partition) -> list[int]:
    """Return the ISR, or all replicas if none is in sync, because the last replica is never dropped from the ISR."""
    if len(environment.up) == len(environment.identity.nodes) and not partition.lagging:
        return partition.replicas
    return [replica for replica in partition.replicas if may_lead(environment, partition, replica)] or partition.replicas


def offline(environment: Environment, partition: Partition) -> list[int]:
    """Return the replicas whose nodes are stopped."""
    if len(environment.up) == len(environment.identity.nodes):
        return []
    up = {each.node_id for each in environment.up}
    return [replica for replica in partition.replicas if replica not in up]


def elected(environment: Environment, partition: Partition) -> int:
    """Return the first replica that may lead the partition, or NO_LEADER."""
    return next((replica for replica in partition.replicas if may_lead(environment, partition, replica)), NO_LEADER)


def heir(environment: Environment, partition: Partition) -> int | None:
    """Return the node that succeeds the leader: the next replica that may lead, or else any other node that is up, or None."""
    at = partition.replicas.index(partition.leader) + 1 if partition.leader in partition.replicas else 0
    others = [*partition.replicas[at:], *partition.replicas[:at], *(each.node_id for each in environment.up)]
    return next((each for each in others if each != partition.leader and may_lead(environment, partition, each)), None)
