"""A simulated thread of a Kafka Streams application, which is a member of a streams group (KIP-1071).

It stands by at once when it is told to, and says with the next heartbeat which tasks it has in which role. When an answer to a heartbeat
is lost, it joins again, because the coordinator tells tasks only once (ST-31). A thread that is `full` sends a heartbeat in its old epoch
first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from groupmock.rig.classic_member import Partition
from groupmock.rig.streams_member import StreamsMember
from groupmock_codec.api_keys import STREAMS_GROUP_HEARTBEAT
from groupmock_codec.messages.k88_streams_group_heartbeat import StreamsGroupHeartbeatRequest, Subtopology, TopicInfo, Topology

from .follower import Follower
from .process import ignored
from .task_lists import ACTIVE, STANDBY, RoleTask, tasks_in

if TYPE_CHECKING:
    from .plan import SimulatedClient
    from .world import World


def topology_of(about: SimulatedClient) -> Topology:
    """Return the topology of a client's application. Its internal topics have the group's name."""
    repartition, changelog = f"{about.group}-by-key-repartition", f"{about.group}-counts-changelog"
    state = [TopicInfo(changelog)] if about.stateful else []
    if not about.repartitions:
        return Topology(0, [Subtopology("0", list(about.topics), state_changelog_topics=state)])
    first = Subtopology("0", list(about.topics), repartition_sink_topics=[repartition])
    return Topology(0, [first, Subtopology("1", state_changelog_topics=state, repartition_source_topics=[TopicInfo(repartition)])])


class StreamsThread(StreamsMember, Follower):
    """A simulated process with one thread of an application. What it owns are tasks in a role."""

    KEY = STREAMS_GROUP_HEARTBEAT

    def __init__(self, world: World, about: SimulatedClient) -> None:
        Follower.__init__(self, world, about)
        StreamsMember.__init__(
            self, about.group, "", topology=topology_of(about), process_id=about.process, rebalance_ms=about.rebalance_ms,
            instance_id=about.instance,
        )  # fmt: skip
        self.topics = list(about.topics)
        self._unsure = False

    def _born(self) -> None:
        self.forget()
        self.member_id = f"{self.name}-{self._lives + 1}"
        self._unsure = False
        self._lose()

    def subscribe(self, topics: list[str]) -> None:
        """Do nothing, because the topology of an application in use cannot change."""

    def _begin(self) -> None:
        if self._unsure and self.epoch and not self.about.full:
            self._come_back()
        else:
            super()._begin()

    def _come_back(self) -> None:
        """Join again, because tasks may have been told in an answer that was lost."""
        self._unsure = False
        if self.instance_id is not None:
            self._ask(self.KEY, self.leave_request(away=True), ignored)
        self._rejoin(0)

    def _beaten(self, answer: Any) -> None:
        unsure = self._unsure and self.epoch
        super()._beaten(answer)
        if answer is not None and not answer.error_code:
            self._unsure = False
            if unsure:
                self._come_back()

    def _unfound(self) -> None:
        self._unsure = self._unsure or self._beating
        super()._unfound()

    def _heartbeat(self, says: bool) -> StreamsGroupHeartbeatRequest:
        if not self.epoch and not self._version(self.KEY):  # Brokers without version 1 refuse the offsets of tasks.
            return self.heartbeat_request(task_offsets=None, task_end_offsets=None)
        if not says or self._unsure:
            return self.heartbeat_request()
        active, standby = (frozenset(spot[1:] for spot in self.mine if spot[0] == role) for role in (ACTIVE, STANDBY))
        return self.heartbeat_request(active, standby)

    def _assigned(self, answer: Any) -> frozenset[RoleTask] | None:
        return None if answer.active_tasks is None else tasks_in(answer)

    def _partitions_of(self, owned: Iterable[RoleTask]) -> frozenset[Partition]:
        """Return the partitions of the source topics. Nothing is read from repartition topics, because nothing is written to them."""
        counts = self.world.counts()
        return frozenset(
            (topic, number)
            for role, subtopology, number in owned
            if role == ACTIVE and subtopology == self.topology.subtopologies[0].subtopology_id
            for topic in self.topics
            if number < counts.get(topic, 0)
        )
