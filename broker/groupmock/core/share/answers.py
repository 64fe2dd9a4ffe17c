"""The answers to ShareFetch and ShareAcknowledge list partitions in an order that hashes decide, and name their leaders alike.

In Kafka: KafkaApis.handleShareFetchRequest and handleAcknowledgements, which put partitions into maps of Scala and Java.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from ..java.hashes import id_partition_hash, int_hash, uuid_hash
from ..java.orders import scala_map_order, scala_table_order
from .sessions import Slot

if TYPE_CHECKING:
    from ..environment import Environment

Answer = tuple[int, str | None]
"""The error code and the text for the acknowledgements of one partition."""


def in_order(slots: Collection[Slot], names: Mapping[Slot, str | None], copied: bool = True) -> list[Slot]:
    """Return the partitions in the order of the answer. Without `copied` they are those of an answer that has only errors, whose mutable
    map is not copied. `names` has the topics' names, None for a topic that does not exist."""
    if len(slots) < 2:
        return list(slots)

    def hash_of(slot: Slot) -> int:
        return id_partition_hash((names.get(slot) or "", slot[1]), slot[0])

    ordered = scala_table_order(slots, hash_of)
    return scala_map_order(ordered, hash_of) if copied else ordered


def behind(slots: Iterable[Slot], before: Iterable[Slot]) -> list[Slot]:
    """Return partitions that only have acknowledgements, in the order in which a ShareFetch answer has them behind the topics of the
    partitions `before`."""
    topics: dict[bytes, list[int]] = {}
    for topic_id, partition in slots:
        topics.setdefault(topic_id, []).append(partition)
    first = [topic_id for topic_id in dict.fromkeys(topic_id for topic_id, _ in before) if topic_id in topics]
    later = [topic_id for topic_id in scala_table_order(topics, uuid_hash) if topic_id not in first]
    return [(topic_id, partition) for topic_id in (*first, *later) for partition in scala_table_order(topics[topic_id], int_hash)]


def endpoints_of(environment: Environment, listener: str, leaders: Collection[int]) -> list[tuple[int, str, int, str | None]]:
    """Return id, host, port and rack of the nodes that lead partitions of an answer."""
    if not leaders:
        return []
    nodes = environment.reached(environment.identity.nodes, listener)
    return [(node.node_id, at.host, at.port, node.rack) for node, at in nodes if node.node_id in leaders]
