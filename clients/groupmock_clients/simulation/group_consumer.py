"""A simulated consumer of a consumer group (KIP-848)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from groupmock.rig.classic_member import Partition
from groupmock.rig.consumer_member import ConsumerMember
from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

from .follower import Follower

if TYPE_CHECKING:
    from .plan import SimulatedClient
    from .world import World

Spot = tuple[bytes, int]
"""A partition as its topic id and its number."""


class GroupConsumer(ConsumerMember, Follower):
    """A simulated consumer process whose member speaks the consumer protocol (KIP-848). What it owns has topic ids. `assignor` is named in
    every heartbeat; without it, the first of `about.protocols` is named in joining."""

    KEY = CONSUMER_GROUP_HEARTBEAT

    def __init__(self, world: World, about: SimulatedClient) -> None:
        Follower.__init__(self, world, about)
        ConsumerMember.__init__(
            self, about.group, "", topics=about.topics, rebalance_ms=about.rebalance_ms, instance_id=about.instance, regex=about.regex
        )
        self.assignor: str | None = None
        self._names: dict[bytes, str] = {}

    def _born(self) -> None:
        self.forget()
        # From version 1 on the client chooses its member id (KIP-1082), while before that the first answer assigns one.
        self.member_id = f"{self.name}-{self._lives + 1}" if self._version(CONSUMER_GROUP_HEARTBEAT) else ""
        self._lose()

    def subscribe(self, topics: list[str]) -> None:
        """Subscribe to these topics and send a heartbeat at once."""
        if set(topics) != set(self.topics):
            self.topics = topics
            self._say()

    def match(self, regex: str) -> None:
        """Subscribe also to topics that match this regular expression, which heartbeats of version 0 cannot carry."""
        if regex != self.regex and self._version(CONSUMER_GROUP_HEARTBEAT):
            self.regex = regex
            self._say()

    def reads(self, topic: str) -> bool:
        """Tell whether the consumer subscribes to that topic."""
        return topic in self.topics or re.fullmatch(self.regex, topic) is not None

    def _begin(self) -> None:
        self.say_all()
        super()._begin()

    def _heartbeat(self, says: bool) -> ConsumerGroupHeartbeatRequest:
        if self.about.full:
            self.say_all()
        assignor = self.about.protocols[0] if self.epoch == 0 and self.about.protocols and not self.assignor else self.assignor
        return self.heartbeat_request(self._listed() if says else None, server_assignor=assignor)

    def _listed(self) -> list[TopicPartitions]:
        if not self.epoch:
            return []
        found: dict[bytes, list[int]] = {}
        for topic, index in sorted(self.mine):
            found.setdefault(topic, []).append(index)
        return [TopicPartitions(topic_id=topic, partitions=indexes) for topic, indexes in found.items()]

    def _assigned(self, answer: Any) -> frozenset[Spot] | None:
        if answer.assignment is None:
            return None
        found = frozenset((each.topic_id, index) for each in answer.assignment.topic_partitions for index in each.partitions)
        for topic, _ in found - self.mine:
            self._names.setdefault(topic, self.world.core.cluster.topics.name_of(topic) or "")
        return found

    def _partitions_of(self, owned: Iterable[Spot]) -> frozenset[Partition]:
        return frozenset((self._names[topic], index) for topic, index in owned)
