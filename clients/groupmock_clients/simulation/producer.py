"""A producer with acks=all that sends each batch once, so that a lost answer leaves the batch uncertain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from groupmock_codec.api_keys import PRODUCE
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.records import NewRecord, encode_batch

from .link import Link

if TYPE_CHECKING:
    from .world import World

VERSION: Final = 7
"""The newest version of Produce that every profile has without topic ids or tagged fields."""
PATIENCE_MS: Final = 5_000


class Producer:
    """Produces records with unique values, so that judges can identify each record."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.links: dict[int, Link] = {}
        self._made = 0

    def produce(self, topic: str, partition: int, records: int) -> None:
        """Send records to the partition's leader, if it has one."""
        for node in self.world.led([(topic, partition)]):
            self._made += 1
            values = [f"{topic}/{partition}/{self._made}/{number}".encode() for number in range(records)]
            data = encode_batch([NewRecord(value=value, timestamp=0) for value in values])
            rows = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=data)])]

            def written(answer: Any, values: list[bytes] = values) -> None:
                told = None if answer is None else answer.responses[0].partition_responses[0]
                if told is not None and told.error_code == 0:
                    self.world.bench.history.produced(topic, partition, told.base_offset, values)

            self._link(node).ask(PRODUCE, VERSION, ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=rows), written, PATIENCE_MS)

    def _link(self, node: int) -> Link:
        link = self.links.get(node)
        if link is None or not link.open:
            link = self.links[node] = Link(self.world, "producer", node)
        return link
