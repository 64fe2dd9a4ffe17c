"""Wait until a broker is where the core is at once with streams groups: internal topics, which it creates some time after the answer to a
heartbeat (docs/kafka/streams-groups.md#st-70), and topologies that are described."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Final, NamedTuple

from groupmock.core.groups.streams.type import StreamsGroup
from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT, DELETE_GROUPS, METADATA
from groupmock_codec.declare import Message
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from groupmock_codec.units import NS_PER_MS

from ..generated.memory import missing_topics
from ..generated.transcript import Facts
from .core_player import CorePlayer

Ask = Callable[[int, int, Message], Message]
"""A function that sends a request of the player's own, given API key, version and message."""
MOMENT_S: Final = 0.02
PATIENCE_S: Final = 10.0
SEEN_MS: Final = 400.0
"""A coordinator sees a topic within this time after clients see it, and has the reasons why it could not create one."""
EARLY_MS: Final = 150.0
LATE_MS: Final = 700.0
"""A broker may stop to remember something this much later than the core, which computes or creates without a delay."""


class Standing(NamedTuple):
    """The topics of a script that exist, and until when topics are remembered that could not be created (ns of the run)."""

    topics: frozenset[str]
    failed_until: tuple[int, ...]


class StreamsAwaited:
    """Waits for internal topics and for what is described, during one play. `listen` lets a time pass (ms)."""

    def __init__(self, core: CorePlayer, ask: Ask, listen: Callable[[float], None], facts: Facts) -> None:
        self._core, self._ask, self._listen, self._facts = core, ask, listen, facts

    def standing(self) -> Standing:
        """Return the topics and failures of the core, to be passed to `wait` after a heartbeat."""
        topics = self._core.core.cluster.topics
        names = frozenset(name for name in missing_topics(self._facts) if name in topics)
        return Standing(names, tuple(topics.failed_creations.ends()))

    def wait(self, before: Standing) -> None:
        """Wait until the broker has the topics that the core has created since `before`, at most some seconds."""
        now, end = self.standing(), time.monotonic() + PATIENCE_S
        wanted = now.topics - before.topics
        while wanted and wanted - self._shown(wanted) and time.monotonic() < end:
            time.sleep(MOMENT_S)  # The broker is polled, because it offers no event to wait for.
        if now != before:
            self._listen(SEEN_MS)

    def clear_of(self, at_ms: float) -> float:
        """Return the time at which a request may be sent, which is `at_ms` unless then the broker may or may not remember something that
        the core has just forgotten, or is about to forget: failures, and the time of the last target."""
        cluster = self._core.core.cluster
        configs, edges = cluster.groups.configs, [*cluster.topics.failed_creations.ends()]
        for group in self._groups():
            if group.computed_at is not None:
                edges.append(group.computed_at + configs.number(group.group_id, "streams.assignment.interval.ms") * NS_PER_MS)
        for edge in sorted(each / NS_PER_MS for each in edges):
            if edge - EARLY_MS < at_ms < edge + LATE_MS:
                at_ms = edge + LATE_MS
        return at_ms

    def show(self) -> None:
        """Let the broker describe the topology as it has found it. If a heartbeat has written nothing, Kafka describes the former one until
        anything is written to the partition of the group, which other groups do at any time."""
        for group in self._groups():
            self._write(group.partition)

    def _write(self, partition: int) -> None:
        """Write to a partition of the offsets topic, with a consumer group that is created and deleted."""
        partition_of = self._core.core.cluster.groups.hosting.partition_of
        names = (f"{self._facts.stem}-aside-{number}" for number in count())
        group = next(name for name in names if partition_of(name) == partition)
        joins = ConsumerGroupHeartbeatRequest(
            group_id=group, member_id="m", member_epoch=0, rebalance_timeout_ms=60_000, subscribed_topic_names=["t"], topic_partitions=[]
        )
        self._ask(CONSUMER_GROUP_HEARTBEAT, 1, joins)
        self._ask(CONSUMER_GROUP_HEARTBEAT, 1, ConsumerGroupHeartbeatRequest(group_id=group, member_id="m", member_epoch=-1))
        self._ask(DELETE_GROUPS, 2, DeleteGroupsRequest(groups_names=[group]))

    def _groups(self) -> Iterator[StreamsGroup]:
        found = map(self._core.core.cluster.groups.find, self._facts.groups)
        return (group for group in found if isinstance(group, StreamsGroup))

    def _shown(self, names: frozenset[str]) -> frozenset[str]:
        """Return those of the topics that the broker shows with leaders."""
        named = [MetadataRequestTopic(name=name) for name in sorted(names)]
        answer = self._ask(METADATA, 4, MetadataRequest(topics=named, allow_auto_topic_creation=False))
        assert isinstance(answer, MetadataResponse)
        return frozenset(str(topic.name) for topic in answer.topics if not topic.error_code and topic.partitions)
