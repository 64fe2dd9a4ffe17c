"""Checks manual replica assignments for CreateTopics and CreatePartitions, with the errors of Kafka's controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from groupmock_codec import error_codes

from .refusal import TopicRefused


def check(assignments: Iterable[Sequence[int]], nodes: Collection[int], factor: int | None) -> int | None:
    """Return the replication factor of the assignments, which must be the same for all partitions. Raises
    TopicRefused(INVALID_REPLICA_ASSIGNMENT) for impossible lists.

    `factor` is the replication factor of the existing partitions, None if there are none. `nodes` should be a set, because each replica is
    looked up in it."""
    for replicas in assignments:
        if not replicas:
            raise _refused("The manual partition assignment includes an empty replica list.")
        occurrences = Counter(replicas) if len(set(replicas)) < len(replicas) else {}
        for node in replicas:
            if node not in nodes:
                raise _refused(f"The manual partition assignment includes broker {node}, but no such broker is registered.")
            if occurrences and occurrences[node] > 1:
                raise _refused(f"The manual partition assignment includes the broker {node} more than once.")
        if factor is not None and len(replicas) != factor:
            raise _refused(
                f"The manual partition assignment includes a partition with {len(replicas)} replica(s), "
                f"but this is not consistent with previous partitions, which have {factor} replica(s)."
            )
        factor = len(replicas)
    return factor


def _refused(message: str) -> TopicRefused:
    return TopicRefused(error_codes.INVALID_REPLICA_ASSIGNMENT, message)
