"""What a member of a consumer group (KIP-848) knows, and the heartbeats that it makes of that: without IO, time or a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groupmock_codec.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

JOINING, LEAVING = 0, -1
"""Member epochs that are no epoch."""


class ConsumerMember:
    """One member. `epoch` is what the coordinator told last; `assigned`: the partitions, None until it told any."""

    def __init__(self, group: str, member_id: str, *, topics: Sequence[str] = (), rebalance_ms: int = 300_000) -> None:
        self.group, self.member_id, self.topics, self.rebalance_ms = group, member_id, list(topics), rebalance_ms
        self.forget()

    def forget(self) -> None:
        """Join with the next heartbeat, as after UNKNOWN_MEMBER_ID and FENCED_MEMBER_EPOCH."""
        self.epoch = JOINING
        self.assigned: list[TopicPartitions] | None = None
        self._said: frozenset[str] = frozenset()

    def told(self, answer: ConsumerGroupHeartbeatResponse) -> int:
        """Learn from the answer to a heartbeat and return its error code."""
        if not answer.error_code:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.assigned = answer.assignment.topic_partitions
        return answer.error_code

    def heartbeat_request(self, owned: Sequence[TopicPartitions] | None = None, **fields: Any) -> ConsumerGroupHeartbeatRequest:
        """ConsumerGroupHeartbeat with what has changed: the topics, and what the member owns if the caller says it.

        A member that joins says everything. `fields` take the place of what it would say.
        """
        joining = self.epoch == JOINING
        changed, self._said = joining or self._said != set(self.topics), frozenset(self.topics)
        said = {
            "member_epoch": self.epoch,
            "rebalance_timeout_ms": self.rebalance_ms if joining else -1,
            "subscribed_topic_names": sorted(self.topics) if changed else None,
            "topic_partitions": list(owned or ()) if joining or owned is not None else None,
        }
        return ConsumerGroupHeartbeatRequest(group_id=self.group, member_id=self.member_id, **{**said, **fields})

    def leave_request(self) -> ConsumerGroupHeartbeatRequest:
        """The heartbeat that leaves the group."""
        return ConsumerGroupHeartbeatRequest(group_id=self.group, member_id=self.member_id, member_epoch=LEAVING)
