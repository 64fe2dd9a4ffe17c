"""Replicas are placed on nodes as in Kafka. Only the first broker of a topic is different: Kafka draws it at random, and groupmock derives
it from the topic's name, so that runs repeat."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Final, Protocol
from zlib import crc32

from groupmock_codec import error_codes

from ..work import AT_ONCE
from .names import INTERNAL
from .refusal import TopicRefused

if TYPE_CHECKING:
    from ..settings import Quirks
    from ..turn import Turn

NO_LEADER: Final = -1
MOST_PARTITIONS: Final = 10_000
"""The largest number of partitions that a controller creates for one request (ReplicationControlManager.MAX_PARTITIONS_PER_BATCH)."""
CREATION_COST: Final = 25
"""The cost of creating a topic, in units of the work limit of one request (core.budget)."""
MADE_COST: Final = 4
TOPIC_SIZE: Final = 16
"""Creating a topic takes as long as creating this number of partitions."""


class Host(Protocol):
    """Decides which node leads each partition of an internal topic, and so which node is the partition's coordinator (core.hosting)."""

    @property
    def places(self) -> int:
        """Return the number of partitions that have coordinators. Further partitions are led like those of any topic."""

    def leader_of(self, partition: int) -> int | None:
        """Return the node that leads the partition, or None if no node does."""

    def elected(self, turn: Turn, first: int, leaders: Sequence[int]) -> None:
        """Handle new partitions: partition `first` and those after it have these leaders, where -1 means none."""

    def load(self, turn: Turn, partition: int, node: int, loading_ms: int) -> None:
        """Start to load a partition on its new leader."""


def first_node(name: str, nodes: int) -> int:
    """Return the index, among the nodes, of the leader of partition 0. Internal topics start at the first node (the (p mod N)-th has
    offsets partition p)."""
    return 0 if name in INTERNAL else crc32(name.encode()) % nodes


def replicas(
    name: str, partitions: Iterable[int], factor: int, node_ids: list[int], leader_of: Callable[[int], int | None] | None = None
) -> Generator[None, None, list[list[int]]]:
    """Return the replica list of each partition, in steps: `factor` neighbours on the ring of nodes, the preferred leader first.

    `leader_of` returns the node that leads a partition, or None if that is not decided yet."""
    nodes, twice_round = len(node_ids), node_ids * 2
    first, placed = first_node(name, nodes), []
    for partition in partitions:
        leader = None if leader_of is None else leader_of(partition)
        start = (first + partition) % nodes if leader is None else node_ids.index(leader)
        placed.append(twice_round[start : start + factor])
        if not len(placed) % AT_ONCE:
            yield
    return placed


def check_numbers(partitions: int, factor: int, nodes: int, quirks: Quirks) -> None:
    """Check whether the nodes allow so many partitions and replicas. Raises TopicRefused with the controller's messages."""
    if factor < 1:
        message = "Replication factor must be larger than 0, or -1 to use the default value."
        raise TopicRefused(error_codes.INVALID_REPLICATION_FACTOR, message)
    if partitions < 1:
        raise TopicRefused(error_codes.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
    if factor > nodes:
        cordoned = "" if quirks.no_cordoned_log_dirs else " or some brokers have all their log directories cordoned"
        raise TopicRefused(
            error_codes.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {factor} time(s): The target replication factor of {factor} cannot be reached "
            f"because only {nodes} broker(s) are registered{cordoned}.",
        )
