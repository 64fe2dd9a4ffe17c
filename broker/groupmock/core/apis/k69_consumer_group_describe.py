"""ConsumerGroupDescribe (69) describes consumer groups with members, assignments and targets (KIP-848, KIP-1099; CG-50 to CG-57)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec.messages.k69_consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)

from ..groups.consumer.type import ConsumerGroup
from .group_descriptions import Kind, answer

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from ..cluster import Cluster
    from ..events import Request
    from ..log.topics import Topics
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    asked = request.message
    assert isinstance(asked, ConsumerGroupDescribeRequest)
    served, with_operations = turn.environment.consumer_groups, asked.include_authorized_operations
    answer(KIND, cluster, request, turn, asked.group_ids, _answered, served=served, with_operations=with_operations)


def _answered(groups: list[DescribedGroup]) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(groups=groups)


def _describe(turn: Turn, group: ConsumerGroup, topics: Topics) -> Generator[None, None, DescribedGroup]:
    from ..groups.consumer.view import describe  # This import is late, because a server that only listens does not need it.

    return describe(turn, group, topics)


def _topics_of(group: DescribedGroup) -> Iterator[str]:
    for member in group.members:
        for part in (member.assignment, member.target_assignment):
            yield from (each.topic_name for each in part.topic_partitions)


KIND: Final = Kind("consumer", ConsumerGroup, DescribedGroup, lambda group: 2 * len(group.holders), _describe, _topics_of)
