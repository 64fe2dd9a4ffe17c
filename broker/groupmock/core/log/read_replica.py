"""A consumer may fetch from a follower in its own rack (KIP-392).

A consumer sends its rack with every Fetch (v11 and later, `client.rack`). Where the brokers have replica.selector.class set to Kafka's
RackAwareReplicaSelector, the leader answers it without records and names a replica in that rack (`preferred_read_replica`); the consumer
fetches there until the replica refuses, or its metadata is renewed. A consumer stays with the leader if it asks from the leader's own rack,
from a rack without a replica, or for an offset that the replica does not have. Kafka 4.3.0, 3.9.1 and 2.8.2 do the same
(docs/kafka/differences.md#fetch-from-follower).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from .partition import Partition

if TYPE_CHECKING:
    from ..identity import Node

RACK_AWARE: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
LEADER_ONLY: Final = "org.apache.kafka.common.replica.LeaderSelector"
"""The class name of the replica selector that always selects the leader, as a broker without a configured selector does."""


def preferred(partition: Partition, rack: str, offset: int, nodes: Iterable[Node]) -> int | None:
    """Return the node from which a consumer in that rack should fetch this offset, or None if the leader serves the consumer.

    Of several the one that has most of the log (ReplicaView.comparator). `nodes`: those that run.
    """
    racks = {node.node_id: node.rack for node in nodes}
    if racks.get(partition.leader) == rack:
        return None
    fitting = [each for each in partition.replicas if racks.get(each) == rack and partition.start <= offset <= partition.end_at(each)]
    return max(fitting, key=partition.end_at, default=None)
