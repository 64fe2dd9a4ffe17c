"""Fetches records for the scripted member `driven_member`, with one connection per node. It never waits for records. If a node is
unreachable or no longer leads a partition, the next round asks for metadata first, and the group does not notice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Final

from groupmock.rig.versions import newest
from groupmock.rig.wire import Client, Unreadable
from groupmock_codec.api_keys import FETCH
from groupmock_codec.error_codes import OFFSET_OUT_OF_RANGE
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from groupmock_codec.messages.k03_metadata import MetadataResponse
from groupmock_codec.records import iter_batches

MOST_BYTES: Final = 1 << 20
SECONDS: Final = 1.0
"""Time limit for an answer from a node, because the member must send heartbeats between two rounds."""
Node = tuple[str, int]


class Reader:
    def __init__(self, topic: str, name: str, metadata: Callable[[], MetadataResponse]) -> None:
        self.topic, self.name, self.metadata = topic, name, metadata
        self._leaders: dict[int, Node] = {}
        self._links: dict[Node, Client] = {}

    def read(self, offsets: dict[int, int]) -> dict[int, int]:
        """Fetch once and return the next offset of each partition."""
        by_node: dict[Node, list[int]] = defaultdict(list)
        if not offsets.keys() <= self._leaders.keys():
            self._look()
        for partition in offsets.keys() & self._leaders.keys():
            by_node[self._leaders[partition]].append(partition)
        found = dict(offsets)
        for node, partitions in by_node.items():
            for answer in self._fetched(node, {each: offsets[each] for each in sorted(partitions)}):
                found[answer.partition_index] = self._next(answer, offsets[answer.partition_index])
        return found

    def _look(self) -> None:
        told = self.metadata()
        nodes = {each.node_id: (each.host, each.port) for each in told.brokers}
        self._leaders = {
            each.partition_index: nodes[each.leader_id] for topic in told.topics for each in topic.partitions if each.leader_id in nodes
        }

    def _fetched(self, node: Node, offsets: dict[int, int]) -> list[PartitionData]:
        wanted = [FetchPartition(partition=each, fetch_offset=offset, partition_max_bytes=MOST_BYTES) for each, offset in offsets.items()]
        try:
            if node not in self._links:
                self._links[node] = Client(*node, self.name, SECONDS)
            request = FetchRequest(topics=[FetchTopic(topic=self.topic, partitions=wanted)])
            answer: FetchResponse = self._links[node].ask(FETCH, newest(FETCH, request), request)
        except (OSError, Unreadable):
            if node in self._links:
                self._links.pop(node).close()
            self._leaders.clear()
            return []
        return [each for topic in answer.responses for each in topic.partitions]

    def _next(self, answer: PartitionData, offset: int) -> int:
        """Return the offset after the last record, or 0 if the log has no such offset (`auto.offset.reset=earliest`)."""
        if answer.error_code:
            self._leaders.pop(answer.partition_index, None)
            return 0 if answer.error_code == OFFSET_OUT_OF_RANGE else offset
        return max((each.next_offset for each in iter_batches(answer.records or b"", cut=True)), default=offset)
