"""The state of a member of a consumer group (KIP-848), and the heartbeats that follow from that state, without IO, a clock or a script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groupmock_codec.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

from .epoch_member import AWAY, JOINING, LEAVING, EpochMember


class ConsumerMember(EpochMember):
    """The state of one member of a consumer group. `assigned` has the assigned partitions, None before the first assignment. `regex` is a
    regular expression that it subscribes to in addition to `topics`."""

    def __init__(
        self,
        group: str,
        member_id: str,
        *,
        topics: Sequence[str] = (),
        rebalance_ms: int = 300_000,
        instance_id: str | None = None,
        regex: str = "",
    ) -> None:
        super().__init__(group, member_id, rebalance_ms, instance_id)
        self.topics, self.regex = list(topics), regex
        self.forget()

    def forget(self) -> None:
        """Forget the member epoch and the assignment, so that the next heartbeat joins again, as after UNKNOWN_MEMBER_ID and
        FENCED_MEMBER_EPOCH."""
        self.epoch = JOINING
        self.assigned: list[TopicPartitions] | None = None
        self._said: frozenset[str] | None = None
        self._said_regex = ""

    def say_all(self) -> None:
        """Let the next heartbeat send all fields, as after an answer that did not come."""
        self._said = None

    def told(self, answer: ConsumerGroupHeartbeatResponse) -> int:
        """Apply a heartbeat response and return its error code."""
        if not answer.error_code:
            self.epoch, self.member_id = answer.member_epoch, answer.member_id or self.member_id
            if answer.assignment is not None:
                self.assigned = answer.assignment.topic_partitions
        return answer.error_code

    def heartbeat_request(self, owned: Sequence[TopicPartitions] | None = None, **fields: Any) -> ConsumerGroupHeartbeatRequest:
        """Make a ConsumerGroupHeartbeat with the changed fields: the subscription, and the owned partitions if the caller passes them. A
        joining member sends everything. `fields` replace the request's fields."""
        joining = self.epoch == JOINING
        whole = joining or self._said is None
        names = frozenset(self.topics)
        changed, self._said = whole or self._said != names, names
        matches, self._said_regex = self.regex != self._said_regex or (whole and bool(self.regex)), self.regex
        said = {
            "member_epoch": self.epoch,
            "instance_id": self.instance_id,
            "rebalance_timeout_ms": self.rebalance_ms if whole else -1,
            "subscribed_topic_names": sorted(self.topics) if changed else None,
            "subscribed_topic_regex": self.regex if matches else None,
            "topic_partitions": list(owned or ()) if joining or owned is not None else None,
        }
        return ConsumerGroupHeartbeatRequest(group_id=self.group, member_id=self.member_id, **{**said, **fields})

    def leave_request(self, away: bool = False) -> ConsumerGroupHeartbeatRequest:
        """Make the heartbeat with which the member leaves the group, or with `away` leaves for a while, as a static member does."""
        epoch = AWAY if away else LEAVING
        return ConsumerGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=epoch, instance_id=self.instance_id
        )
