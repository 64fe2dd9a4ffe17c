"""Wait until a cluster of several nodes has moved the leaders and coordinators that the core has moved, which it does at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from groupmock.core.log.names import OFFSETS_TOPIC
from groupmock_codec.api_keys import ALTER_PARTITION_REASSIGNMENTS, DESCRIBE_SHARE_GROUP_OFFSETS, METADATA
from groupmock_codec.declare import Message
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from groupmock_codec.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from groupmock_codec.messages.k90_describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)

from ..generated.transcript import Facts, NodeFact
from .core_player import CorePlayer

AskNode = Callable[[NodeFact, int, int, Message], Message]
"""A function that sends a request to a node, given API key, version and message."""
Leaders = Mapping[str, Sequence[int]]
"""Maps a topic to the leader of each of its partitions."""
MOMENT_S: Final = 0.02
PATIENCE_S: Final = 10.0
LOADING: Final = (14, 15, 16)
"""The errors of a coordinator that is not there yet."""


class MovesAwaited:
    """Waits for leaders and coordinators during one play."""

    def __init__(self, core: CorePlayer, ask: AskNode, facts: Facts) -> None:
        self._core, self._ask, self._facts = core, ask, facts

    def standing(self) -> Leaders:
        """Return the leaders that the core has, to be passed to `wait` after the next event."""
        topics = self._core.core.cluster.topics
        names = [OFFSETS_TOPIC, *(fact.name for fact in self._facts.topics if fact.name in topics)]
        return {name: [topics.leader_of(name, index) for index in range(topics.partitions(name) or 0)] for name in names}

    def wait(self, before: Leaders) -> None:
        """Wait until the nodes know the leaders that the core has, if they are not those of `before`, at most some seconds."""
        wanted = self.standing()
        if wanted == before:
            return
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and not all(told(self._ask, node, wanted) for node in self._facts.nodes):
            time.sleep(MOMENT_S)  # The brokers are polled, because they offer no event to wait for.
        if wanted[OFFSETS_TOPIC] != before[OFFSETS_TOPIC]:
            while time.monotonic() < end and not self._loaded(wanted[OFFSETS_TOPIC][0]):
                time.sleep(MOMENT_S)

    def _loaded(self, coordinator: int) -> bool:
        """Tell whether the coordinator of all groups has loaded those of the script."""
        groups = [DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None) for name in self._facts.groups]
        node = next(each for each in self._facts.nodes if each.node == coordinator)
        answer = self._ask(node, DESCRIBE_SHARE_GROUP_OFFSETS, 0, DescribeShareGroupOffsetsRequest(groups=groups))
        assert isinstance(answer, DescribeShareGroupOffsetsResponse)
        return not any(group.error_code in LOADING for group in answer.groups)


def told(ask: AskNode, node: NodeFact, wanted: Leaders) -> bool:
    """Tell whether a node knows these leaders, each of which is the only replica of its partition."""
    named = [MetadataRequestTopic(name=name) for name in wanted]
    answer = ask(node, METADATA, 4, MetadataRequest(topics=named, allow_auto_topic_creation=False))
    assert isinstance(answer, MetadataResponse)
    rows = {(topic.name, row.partition_index): row for topic in answer.topics for row in topic.partitions}
    places = {(name, index): leader for name, leaders in wanted.items() for index, leader in enumerate(leaders)}
    return all(place in rows and rows[place].replica_nodes == [leader] == [rows[place].leader_id] for place, leader in places.items())


def move_all(ask: AskNode, nodes: Sequence[NodeFact], leaders: Leaders) -> None:
    """Let these nodes lead, and wait until all nodes know that, at most some seconds."""
    topics = [
        ReassignableTopic(
            name=name, partitions=[ReassignablePartition(partition_index=index, replicas=[node]) for index, node in enumerate(of_topic)]
        )
        for name, of_topic in leaders.items()
    ]
    ask(nodes[0], ALTER_PARTITION_REASSIGNMENTS, 0, AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=10_000))
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and not all(told(ask, node, leaders) for node in nodes):
        time.sleep(MOMENT_S)
