"""The state of a member of a consumer group (KIP-848), and the heartbeats that it makes from that state, without IO, time or a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groupmock_codec.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

JOINING, LEAVING = 0, -1
"""The member epochs by which a member joins and leaves."""


class ConsumerMember:
    """The state of one member. `epoch` is the coordinator's last one; `assigned` has the assigned partitions, None before the first
    assignment."""

    def __init__(self, group: str, member_id: str, *, topics: Sequence[str] = (), rebalance_ms: int = 300_000) -> None:
        self.group, self.member_id, self.topics, self.rebalance_ms = group, member_id, list(topics), rebalance_ms
        self.forget()

    def forget(self) -> None:
        """Join again with the next heartbeat, as after UNKNOWN_MEMBER_ID and FENCED_MEMBER_EPOCH."""
        self.epoch = JOINING
        self.assigned: list[TopicPartitions] | None = None
        self._said: frozenset[str] = frozenset()

    def told(self, answer: ConsumerGroupHeartbeatResponse) -> int:
        """Apply a heartbeat response and return its error code."""
        if not answer.error_code:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.assigned = answer.assignment.topic_partitions
        return answer.error_code

    def heartbeat_request(self, owned: Sequence[TopicPartitions] | None = None, **fields: Any) -> ConsumerGroupHeartbeatRequest:
        """Make a ConsumerGroupHeartbeat with what has changed: the topics, and the owned partitions if the caller passes them. A joining
        member sends everything. `fields` replace the request's fields."""
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
        """Make the heartbeat that leaves the group."""
        return ConsumerGroupHeartbeatRequest(group_id=self.group, member_id=self.member_id, member_epoch=LEAVING)
