"""StreamsGroupDescribe (89) describes streams groups with topology, members and tasks (KIP-1071; ST-50 to ST-54)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec.messages.k89_streams_group_describe import DescribedGroup, StreamsGroupDescribeRequest, StreamsGroupDescribeResponse

from ..groups.streams.type import StreamsGroup
from .group_descriptions import Kind, answer

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from ..cluster import Cluster
    from ..events import Request
    from ..log.topics import Topics
    from ..turn import Turn

HIDDEN: Final = "The described group uses topics that the client is not authorized to describe."
NONE_STORED: Final = 1
"""The status of a description of the topology that was asked for and that no member has sent."""
STORED: Final = 3
"""The status of a description that the answer has."""


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    asked = request.message
    assert isinstance(asked, StreamsGroupDescribeRequest)
    served, with_operations = turn.environment.streams_groups, asked.include_authorized_operations

    def answered(groups: list[DescribedGroup]) -> StreamsGroupDescribeResponse:
        if asked.include_topology_description:
            for group in groups:
                if not group.error_code:
                    _add_description(cluster, group)
        return StreamsGroupDescribeResponse(groups=groups)

    answer(KIND, cluster, request, turn, asked.group_ids, answered, served=served, with_operations=with_operations)


def _add_description(cluster: Cluster, described: DescribedGroup) -> None:
    group = cluster.groups.find(described.group_id)
    assert isinstance(group, StreamsGroup)
    described.topology_description = group.description.stored
    described.topology_description_status = NONE_STORED if group.description.stored is None else STORED


def _tasks(group: StreamsGroup) -> int:
    topics = 0 if group.topology is None else len(group.required)
    return topics + 2 * sum(len(each.assigned.active) + len(each.assigned.standby) for each in group.members.values())


def _describe(_: Turn, group: StreamsGroup, topics: Topics) -> Generator[None, None, DescribedGroup]:
    from ..groups.streams.view import describe  # This import is late, because a server that only listens does not need it.

    return describe(group)


def _topics_of(group: DescribedGroup) -> Iterator[str]:
    for each in () if group.topology is None else group.topology.subtopologies or ():
        yield from each.source_topics
        yield from each.repartition_sink_topics
        yield from (topic.name for topic in (*each.state_changelog_topics, *each.repartition_source_topics))


KIND: Final = Kind("streams", StreamsGroup, DescribedGroup, _tasks, _describe, _topics_of, HIDDEN)
