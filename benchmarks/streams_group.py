"""Members of a streams group (KIP-1071): N instances with one thread each and an endpoint run a topology with state.

Their requests are made and read by groupmock's codec, because the figures of streams groups have no peer.
"""

from __future__ import annotations

import uuid
from itertools import pairwise

from groupmock.rig.epoch_member import LEAVING
from groupmock.rig.streams_member import NO_TASKS, StreamsMember, Tasks, task_ids
from groupmock.rig.wire import read_response
from groupmock_codec import APIS
from groupmock_codec.api_keys import STREAMS_GROUP_HEARTBEAT
from groupmock_codec.messages.k88_streams_group_heartbeat import (
    Endpoint,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TopicInfo,
    Topology,
)

from .consumer_group import REBALANCE_MS, VERSION, ConsumerGroup, ConsumerMember
from .generators import Failed
from .join import SocketLink

SUBTOPOLOGIES = 4


def topology(source: str) -> Topology:
    """Return a chain of subtopologies with state, each of which has as many tasks as the source topic has partitions."""
    passed = ["", *(f"passed-{number}" for number in range(1, SUBTOPOLOGIES)), ""]
    return Topology(
        subtopologies=[
            Subtopology(
                subtopology_id=str(number),
                source_topics=[] if read else [source],
                repartition_source_topics=[TopicInfo(read)] if read else [],
                repartition_sink_topics=[written] if written else [],
                state_changelog_topics=[TopicInfo(f"state-{number}")],
            )
            for number, (read, written) in enumerate(pairwise(passed))
        ]
    )


class StreamsGroup(ConsumerGroup):
    """A streams group in which every member has an endpoint and a process of its own. `owned` of a member has its active tasks. `standbys`:
    whether each task has a standby task, without which the group has not settled."""

    key = STREAMS_GROUP_HEARTBEAT

    def __init__(self, endpoint: tuple[str, int], name: str, topic: str, count: int, standbys: bool = True) -> None:
        self.topology, self.standbys = topology(topic), standbys
        self._threads: dict[str, StreamsMember] = {}
        self._endpoints: dict[str, int] = {}
        super().__init__(endpoint, name, topic, count)

    def settled(self, partitions: int) -> bool:
        """Return whether all tasks are held, actively and by standbys, at one epoch."""
        standbys = sum(len(each.standby or ()) for each in self._threads.values())
        held = sum(each.partitions for each in self.members)
        return held == partitions and standbys == partitions * self.standbys and len({each.epoch for each in self.members}) == 1

    def bounce(self, count: int) -> None:
        """Make so many members leave the group, which join again under other ids with the next call of `settle`."""
        idle = [(number, each) for number, each in enumerate(self.members) if not each.waits]
        for number, each in idle[:count]:
            left = self._threads.pop(each.id)
            if _read(each.link.call(self.key, VERSION, _body(left.leave_request()), flexible=True)).member_epoch != LEAVING:
                raise Failed(f"the member {each.id} did not leave")
            self.members[number] = self._member(each.link)

    def _member(self, link: SocketLink) -> ConsumerMember:
        member = super()._member(link)
        self._threads[member.id] = StreamsMember(
            self.name, member.id, topology=self.topology, process_id=str(uuid.uuid4()), rebalance_ms=REBALANCE_MS
        )
        self._endpoints[member.id] = -1
        return member

    def _joining(self, member: ConsumerMember) -> bytes:
        host, port = member.link.sock.getsockname()[:2]
        return _body(self._threads[member.id].heartbeat_request(user_endpoint=Endpoint(host, port)))

    def _again(self, member: ConsumerMember) -> bytes:
        return self._beat(member)

    def _has(self, member: ConsumerMember) -> bytes:
        thread = self._threads[member.id]
        return self._beat(member, thread.active, thread.standby or NO_TASKS)

    def _beat(self, member: ConsumerMember, active: Tasks | None = None, standby: Tasks = NO_TASKS) -> bytes:
        known = self._endpoints[member.id]
        return _body(self._threads[member.id].heartbeat_request(active, standby, endpoint_information_epoch=known))

    def _told(self, member: ConsumerMember, frame: bytes) -> tuple[int, bool]:
        answer, thread = _read(frame), self._threads[member.id]
        before = (thread.active, thread.standby)
        if thread.told(answer):
            raise Failed(f"StreamsGroupHeartbeat was answered with error {answer.error_code}: {answer.error_message}")
        self._endpoints[member.id], member.epoch = answer.endpoint_information_epoch, thread.epoch
        member.owned = [(each.subtopology_id.encode(), each.partitions) for each in task_ids(thread.active or ())]
        return answer.heartbeat_interval_ms, (thread.active, thread.standby) != before


def _body(message: StreamsGroupHeartbeatRequest) -> bytes:
    return APIS[STREAMS_GROUP_HEARTBEAT].request.encode(VERSION, message)


def _read(frame: bytes) -> StreamsGroupHeartbeatResponse:
    answer = read_response(STREAMS_GROUP_HEARTBEAT, VERSION, frame)[1]
    assert isinstance(answer, StreamsGroupHeartbeatResponse)
    return answer
