"""Scripted instances of a Kafka Streams application with one thread each, by the streams protocol (KIP-1071) and by the classic protocol.

The application counts the records of its topics: one subtopology with a changelog, and one standby task for each task. A process that comes
back under its name still has its state directory, and restoring takes no time. The partitions of a task stand for the task, because the
topics of one subtopology have the same number of partitions.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Sequence
from typing import Any, Final

from groupmock.rig.streams_member import NO_TASKS, StreamsMember, Task, Tasks
from groupmock_codec.api_keys import STREAMS_GROUP_HEARTBEAT
from groupmock_codec.messages.k88_streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TopicInfo,
    Topology,
)

from ...cooperative.balance import Partition
from ..play import GROUP
from .assignors import Held, StreamsTasks
from .follower import VirtualFollower
from .member import REBALANCE_TIMEOUT_MS, VirtualMember

SUBTOPOLOGY: Final = "0"
CHANGELOG: Final = f"{GROUP}-counts-changelog"
REPORT_MS: Final = 100
"""The time in ms from an answer with tasks to the heartbeat with the tasks that the member owns, as seen of Kafka Streams 4.4.0."""


def counting(topics: Sequence[str]) -> Topology:
    """Return the topology of an application that counts the records of these topics."""
    return Topology(0, [Subtopology(SUBTOPOLOGY, list(topics), state_changelog_topics=[TopicInfo(CHANGELOG)])])


class VirtualStreamsMember(VirtualFollower):
    """A scripted member of a streams group. `_standby` has its standby tasks."""

    HEARTBEAT = STREAMS_GROUP_HEARTBEAT
    _speaker: StreamsMember
    _standby: Tasks = NO_TASKS

    def _new_speaker(self) -> StreamsMember:
        """Return the state of a member with a new id, as Kafka Streams makes one whenever it starts."""
        self.member_id = self.member_id or urlsafe_b64encode(self.dice.randbytes(16)).rstrip(b"=").decode()
        self._standby = NO_TASKS
        return StreamsMember(
            GROUP, self.member_id, topology=counting(self.topics), process_id=self.name, rebalance_ms=REBALANCE_TIMEOUT_MS,
            task_offsets=self._state_directory,
        )  # fmt: skip

    @property
    def _state_directory(self) -> dict[Task, int]:
        return self.world.state_directories.setdefault(self.name, {})

    def _said_now(self, **fields: Any) -> StreamsGroupHeartbeatRequest:
        active = frozenset((SUBTOPOLOGY, number) for _, number in self.owned) if self._owes else None
        self._owes = False
        return self._speaker.heartbeat_request(active, self._standby, **fields)

    def _told(self, answer: StreamsGroupHeartbeatResponse) -> None:
        joined = not self.generation
        super()._told(answer)
        if joined and self.stable and not self._owes:
            self._owes = True
            self._beat_now()

    def _given(self, answer: StreamsGroupHeartbeatResponse) -> Held | None:
        if answer.active_tasks is None:
            return None
        self._standby = self._speaker.standby or NO_TASKS
        return frozenset(place for task in self._speaker.active or NO_TASKS for place in self._partitions_of(task))

    def _follow(self, given: Held) -> None:
        super()._follow(given)
        if self._owes:
            self._after(REPORT_MS, "report", self._report)

    def _report(self) -> None:
        if self._owes:
            self._beat_now()

    def _commit(self, partitions: Iterable[Partition]) -> None:
        """Commit, and write to the state directory how far each task has counted."""
        super()._commit(partitions)
        for task in (self._speaker.active or NO_TASKS) | self._standby:
            self._state_directory[task] = sum(map(self.delivery.end, self._partitions_of(task)))

    def _partitions_of(self, task: Task) -> list[Partition]:
        return [(topic, task[1]) for topic in self.topics if task[1] < self.counts.get(topic, 0)]


class VirtualClassicStreams(VirtualMember):
    """A scripted instance by the classic protocol, with the assignor `StreamsTasks`. It goes on processing during a rebalance."""

    ASSIGNORS = (StreamsTasks,)
    GOES_ON = True

    def _leave(self) -> None:
        """Do nothing, because Kafka Streams sets internal.leave.group.on.close to false, so that only the end of the session removes it."""
