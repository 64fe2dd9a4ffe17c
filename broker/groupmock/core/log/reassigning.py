"""Administrators can change which replica leads a partition (KIP-183, KIP-460), and on which nodes its replicas are (KIP-455).

There is one copy of every record whatever the replicas are, so a reassignment is done as soon as it is ordered, and none is ever in
progress. Codes and texts are those of the KRaft controller (org.apache.kafka.controller.ReplicationControlManager), as seen on 4.3.0 and
3.9.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes

from . import assignments
from .placement import NO_LEADER
from .refusal import TopicRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..turn import Turn
    from .partition import Partition
    from .topics import Topics

PREFERRED: Final = 0
UNCLEAN: Final = 1

NOT_NEEDED: Final = "Leader election not needed for topic partition."
NOT_AVAILABLE: Final = "The preferred leader was not available."
NONE_ELIGIBLE: Final = "Eligible topic partition leaders are not available."


def elect(turn: Turn, topics: Topics, topic: str, partition: Partition, kind: int) -> None:
    """Make the first replica the leader (PREFERRED), or any replica of a partition without a leader (UNCLEAN). Raises TopicRefused."""
    first = partition.replicas[0]
    if partition.leader == first or (kind == UNCLEAN and partition.leader != NO_LEADER):
        raise TopicRefused(error_codes.ELECTION_NOT_NEEDED, NOT_NEEDED)
    up = {each.node_id for each in turn.environment.up}
    if kind == UNCLEAN:
        # A running replica that is in sync would already be the leader, so only a replica that lags is found here.
        behind = next((replica for replica in partition.replicas if replica in up), None)
        if behind is None:
            raise TopicRefused(error_codes.ELIGIBLE_LEADERS_NOT_AVAILABLE, NONE_ELIGIBLE)
        lead_uncleanly(turn, topics, topic, partition, behind, partition.end_at(behind))
        return
    if first not in up:
        raise TopicRefused(error_codes.PREFERRED_LEADER_NOT_AVAILABLE, NOT_AVAILABLE)
    topics.lead(turn, topic, partition.index, first)


def lead_uncleanly(turn: Turn, topics: Topics, topic: str, partition: Partition, node: int, end: int) -> None:
    """Make a node the leader whose log ends at `end`, so that all later records are lost."""
    truncate(turn, topic, partition, end)
    topics.lead(turn, topic, partition.index, node)


def truncate(turn: Turn, topic: str, partition: Partition, offset: int) -> None:
    """Remove the records from the offset on, and write a journal row that says how many offsets were lost."""
    lost = partition.end - offset
    partition.truncate(offset)
    turn.note("log_truncated", topic=topic, partition=partition.index, offset=offset, lost=lost)


def check_replicas(turn: Turn, partition: Partition, replicas: Sequence[int], may_change_factor: bool) -> None:
    """Refuse a replica list that the partition cannot have. Raises TopicRefused."""
    assignments.check([sorted(replicas)], {node.node_id for node in turn.environment.identity.nodes}, None)
    if not may_change_factor and len(replicas) != len(partition.replicas):
        raise TopicRefused(
            error_codes.INVALID_REPLICATION_FACTOR, f"The replication factor is changed from {len(partition.replicas)} to {len(replicas)}"
        )
    # Kafka would accept a reassignment to stopped nodes and complete it when one of them starts, but reassignments of groupmock are
    # immediate (docs/kafka/differences.md#administration).
    if not any(node.node_id in replicas for node in turn.environment.up):
        raise TopicRefused(error_codes.INVALID_REPLICA_ASSIGNMENT, f"None of the brokers {list(replicas)} runs.")


def reassign(turn: Turn, topics: Topics, topic: str, partition: Partition, replicas: Sequence[int]) -> None:
    """Replace the replicas of a partition by a list that was checked. The leader stays if it is one of them."""
    partition.replicas = list(replicas)
    turn.note("partition_reassigned", topic=topic, partition=partition.index, replicas=partition.replicas)
    up = {node.node_id for node in turn.environment.up}
    heir = next(node for node in replicas if node in up)
    if partition.leader != heir and partition.leader not in replicas:
        topics.lead(turn, topic, partition.index, heir)
