"""A cluster with members of streams groups whose requests pass through the codec."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from log_world import LogWorld

from groupmock.core.groups.streams.type import StreamsGroup
from groupmock_codec.messages import k88_streams_group_heartbeat as k88
from groupmock_codec.messages.k89_streams_group_describe import DescribedGroup, StreamsGroupDescribeRequest

SESSION_MS: Final = 30_000
Tasks = dict[str, list[int]]
NO_TASKS: Final[Tasks] = {}


class Told(NamedTuple):
    """The answer to a StreamsGroupHeartbeat: the member epoch, the active and standby tasks or None for null, and the codes of the
    statuses."""

    epoch: int
    active: Tasks | None
    standby: Tasks | None
    statuses: list[int]


def subtopology(name: str = "0", *sources: str, **fields: Any) -> k88.Subtopology:
    """Return a subtopology that reads `sources`. `state` and `repartition` name changelogs and repartition sources, or map them to counts
    of partitions; `sinks` are repartition sinks."""
    state, repartition = (
        [k88.TopicInfo(name=each, partitions=count) for each, count in dict.fromkeys(topics, 0).items()]
        if not isinstance(topics, dict)
        else [k88.TopicInfo(name=each, partitions=count) for each, count in topics.items()]
        for topics in (fields.pop("state", ()), fields.pop("repartition", ()))
    )
    return k88.Subtopology(
        subtopology_id=name,
        source_topics=list(sources),
        state_changelog_topics=state,
        repartition_source_topics=repartition,
        repartition_sink_topics=list(fields.pop("sinks", ())),
        **fields,
    )


def topology(*subtopologies: k88.Subtopology, epoch: int = 0) -> k88.Topology:
    return k88.Topology(epoch=epoch, subtopologies=list(subtopologies))


PLAIN: Final = topology(subtopology("0", "t"))
"""A topology with one subtopology without state, which reads the topic `t`."""


def tasks(owned: Tasks) -> list[k88.TaskIds]:
    return [k88.TaskIds(subtopology_id=each, partitions=numbers) for each, numbers in owned.items()]


class StreamsWorld(LogWorld):
    """A cluster with the topics `t` (four partitions) and `u` (two) for tests of streams groups. By default nothing is delayed. `epochs`
    has each member's last epoch, and `owned` the tasks that it was told last."""

    def __init__(self, *, topics: bool = True, **settings: Any) -> None:
        timing = {
            "group_streams_session_timeout_ms": SESSION_MS,
            "group_streams_heartbeat_interval_ms": 3000,
            "group_streams_initial_rebalance_delay_ms": 0,
            "group_streams_assignment_interval_ms": 0,
        }
        super().__init__(**{**timing, **settings})
        if topics:
            self.topic("t", 4)
            self.topic("u", 2)
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, tuple[Tasks, Tasks]] = {}

    @property
    def node(self) -> int:
        """Return the id of the node that coordinates the group."""
        return self.cluster.groups.hosting.node_of("g") or 1

    @property
    def streams_group(self) -> StreamsGroup:
        group = self.cluster.groups.find("g")
        assert isinstance(group, StreamsGroup)
        return group

    def raw(self, *, client: str | None = "c", version: int = 1, host: str = "/10.0.0.7", **fields: Any) -> Any:
        """Send a heartbeat, by default of group "g" and member "A", and return the whole answer. The clock does not move."""
        asked = k88.StreamsGroupHeartbeatRequest(**{"group_id": "g", "member_id": "A", **fields})
        sent = self.rig.send(88, version, asked, client_id=client, client_host=host, node=self.node)
        return self.answers[sent.ticket]

    def raw_join(self, member: str = "A", of: k88.Topology = PLAIN, **fields: Any) -> Any:
        """Send a join with all fields that it needs, and return the whole answer. By default each member is a process of its own."""
        empty: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
        own = {"member_id": member, "topology": of, "process_id": f"p-{member}", "rebalance_timeout_ms": 30_000, "client_tags": []}
        return self.raw(**{**empty, **own, **fields})

    def refused(self, found: Any) -> tuple[int, str | None]:
        """Return error code and message of a refused heartbeat. Its answer contains nothing else."""
        empty = (found.member_id, found.member_epoch, found.heartbeat_interval_ms, found.task_offset_interval_ms, found.status)
        assert empty == ("", 0, 0, 0, []), found
        lists = (found.active_tasks, found.standby_tasks, found.warmup_tasks, found.endpoint_information_epoch)
        assert lists == (None, None, None, 0), found
        assert found.partitions_by_user_endpoint is None
        return found.error_code, found.error_message

    def join(self, member: str = "A", of: k88.Topology = PLAIN, **fields: Any) -> Told:
        """Join the group with epoch 0, as a process of its own."""
        return self._told(member, self.raw_join(member, of, **fields))

    def beat(self, member: str = "A", owned: tuple[Tasks, Tasks] | None = None, **fields: Any) -> Told:
        """Send a heartbeat with the member's last epoch, and with the tasks that it owns if they are given."""
        lists: dict[str, Any] = {}
        if owned is not None:
            lists = {"active_tasks": tasks(owned[0]), "standby_tasks": tasks(owned[1]), "warmup_tasks": []}
        return self._told(member, self.raw(**{"member_id": member, "member_epoch": self.epochs[member], **lists, **fields}))

    def confirm(self, member: str = "A", **fields: Any) -> Told:
        """Send a heartbeat whose member owns exactly what it was told last."""
        return self.beat(member, self.owned[member], **fields)

    def leave(self, member: str = "A", **fields: Any) -> None:
        found = self.raw(**{"member_id": member, "member_epoch": -1, **fields})
        assert (found.error_code, found.member_id, found.active_tasks) == (0, member, None)

    def _told(self, member: str, found: Any) -> Told:
        assert (found.error_code, found.error_message) == (0, None), (found.error_code, found.error_message)
        assert found.member_id == member
        self.epochs[member] = found.member_epoch
        active, standby = (None if each is None else parts(each) for each in (found.active_tasks, found.standby_tasks))
        if active is not None and standby is not None:
            self.owned[member] = (active, standby)
        return Told(found.member_epoch, active, standby, [each.status_code for each in found.status])

    # -- Views

    def described(self, *group_ids: str, version: int = 1, **fields: Any) -> list[DescribedGroup]:
        sent = self.rig.send(89, version, StreamsGroupDescribeRequest(group_ids=list(group_ids), **fields), node=self.node)
        found: list[DescribedGroup] = self.answers[sent.ticket].groups
        return found

    def state(self) -> tuple[str, int, int]:
        """Return state, group epoch and assignment epoch."""
        (group,) = self.described("g")
        return group.group_state, group.group_epoch, group.assignment_epoch


def parts(lists: list[k88.TaskIds]) -> Tasks:
    return {each.subtopology_id: list(each.partitions) for each in lists}
