"""Manual replica assignments of CreateTopics and CreatePartitions: what Kafka's controller refuses, in its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from groupmock_codec import error_codes

from .refusal import TopicRefused


def check(assignments: Iterable[Sequence[int]], nodes: Collection[int], factor: int | None) -> int | None:
    """Return how many replicas each partition has. Raises TopicRefused(INVALID_REPLICA_ASSIGNMENT) for impossible lists. `factor` is the
    number of replicas of the existing partitions, None if there are none yet. Each list is looked up in `nodes`, so a set is best."""
    for replicas in assignments:
        if not replicas:
            raise _refused("The manual partition assignment includes an empty replica list.")
        times = Counter(replicas)
        for node in replicas:
            if node not in nodes:
                raise _refused(f"The manual partition assignment includes broker {node}, but no such broker is registered.")
            if times[node] > 1:
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
