"""The state of a member of a streams group (KIP-1071), and the heartbeats that follow from that state, without IO, a clock or a script.

It says what a thread of Kafka Streams 4.4.0 says: everything in joining, then its tasks when they have changed, and else nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from groupmock_codec.messages.k88_streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    TaskIds,
    TaskOffset,
    Topology,
)

from .epoch_member import AWAY, JOINING, LEAVING, EpochMember

Task = tuple[str, int]
"""A task as its subtopology and its partition."""
Tasks = frozenset[Task]
NO_TASKS: Final[Tasks] = frozenset()


class StreamsMember(EpochMember):
    """The state of one member of a streams group, which is a thread of the process `process_id`. `active` and `standby` have its tasks by
    the last answer, None before the first assignment. `task_offsets` maps the tasks in its state directory to their offsets."""

    def __init__(
        self,
        group: str,
        member_id: str,
        *,
        topology: Topology,
        process_id: str,
        rebalance_ms: int = 300_000,
        instance_id: str | None = None,
        task_offsets: Mapping[Task, int] | None = None,
    ) -> None:
        super().__init__(group, member_id, rebalance_ms, instance_id)
        self.topology, self.process_id = topology, process_id
        self.task_offsets = dict(task_offsets or {})
        self.forget()

    def forget(self) -> None:
        """Forget the member epoch and the tasks, so that the next heartbeat joins again, as after UNKNOWN_MEMBER_ID and
        FENCED_MEMBER_EPOCH."""
        self.epoch = JOINING
        self.active: Tasks | None = None
        self.standby: Tasks | None = None

    def told(self, answer: StreamsGroupHeartbeatResponse) -> int:
        """Apply a heartbeat response and return its error code."""
        if not answer.error_code:
            self.epoch, self.member_id = answer.member_epoch, answer.member_id or self.member_id
            if answer.active_tasks is not None:
                self.active, self.standby = tasks_of(answer.active_tasks), tasks_of(answer.standby_tasks)
        return answer.error_code

    def heartbeat_request(self, active: Tasks | None = None, standby: Tasks = NO_TASKS, **fields: Any) -> StreamsGroupHeartbeatRequest:
        """Make a StreamsGroupHeartbeat with everything if the member joins, and later with the owned tasks if the caller passes them.
        `fields` replace the request's fields."""
        joining = self.epoch == JOINING
        said: dict[str, Any] = {"member_epoch": self.epoch, "instance_id": self.instance_id}
        if joining:
            active, standby = NO_TASKS, NO_TASKS
            said |= {
                "endpoint_information_epoch": -1, "topology": self.topology, "process_id": self.process_id, "client_tags": [],
                "rebalance_timeout_ms": self.rebalance_ms, "task_end_offsets": [],
                "task_offsets": [TaskOffset(subtopology, number, at) for (subtopology, number), at in sorted(self.task_offsets.items())],
            }  # fmt: skip
        if active is not None:
            said |= {"active_tasks": task_ids(active), "standby_tasks": task_ids(standby), "warmup_tasks": []}
        return StreamsGroupHeartbeatRequest(group_id=self.group, member_id=self.member_id, **{**said, **fields})

    def leave_request(self, away: bool = False) -> StreamsGroupHeartbeatRequest:
        """Make the heartbeat with which the member leaves the group, or with `away` leaves for a while, as a static member does."""
        return StreamsGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=AWAY if away else LEAVING, instance_id=self.instance_id
        )


def task_ids(tasks: Iterable[Task]) -> list[TaskIds]:
    """Return tasks as a heartbeat lists them, by subtopology."""
    found: dict[str, list[int]] = {}
    for subtopology, number in sorted(tasks):
        found.setdefault(subtopology, []).append(number)
    return [TaskIds(subtopology, numbers) for subtopology, numbers in found.items()]


def tasks_of(found: Iterable[TaskIds] | None) -> Tasks:
    """Return the tasks of a list in a heartbeat; null counts as an empty list."""
    return frozenset((each.subtopology_id, number) for each in found or () for number in each.partitions)
