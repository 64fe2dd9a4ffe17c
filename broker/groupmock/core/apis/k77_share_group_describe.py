"""ShareGroupDescribe (77) describes share groups with members and assignments (KIP-932; SG-50 to SG-52)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k77_share_group_describe import DescribedGroup, ShareGroupDescribeRequest, ShareGroupDescribeResponse

from ..groups.share.type import ShareGroup
from .group_descriptions import Kind, answer
from .k90_describe_share_group_offsets import NOT_COORDINATOR

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from ..cluster import Cluster
    from ..events import Request
    from ..log.topics import Topics
    from ..turn import Turn


TEXTS: Final = {
    error_codes.COORDINATOR_LOAD_IN_PROGRESS: "The coordinator is loading and hence can't process requests.",
    error_codes.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    error_codes.NOT_COORDINATOR: NOT_COORDINATOR,
}
"""The messages of errors, which ConsumerGroupDescribe does not have (ShareGroupDescribeRequest.getErrorDescribedGroupList)."""


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    asked = request.message
    assert isinstance(asked, ShareGroupDescribeRequest)
    served, with_operations = turn.environment.share_groups, asked.include_authorized_operations
    answer(KIND, cluster, request, turn, asked.group_ids, _answered, served=served, with_operations=with_operations)


def _partitions(group: ShareGroup) -> int:
    return sum(group.held_partitions(member) for member in group.members.values())


def _answered(groups: list[DescribedGroup]) -> ShareGroupDescribeResponse:
    return ShareGroupDescribeResponse(groups=groups)


def _describe(_: Turn, group: ShareGroup, topics: Topics) -> Generator[None, None, DescribedGroup]:
    from ..groups.share.view import describe  # This import is late, because a server that only listens does not need it.

    return describe(group, topics)


def _topics_of(group: DescribedGroup) -> Iterator[str]:
    return (each.topic_name for member in group.members for each in member.assignment.topic_partitions)


KIND: Final = Kind("share", ShareGroup, DescribedGroup, _partitions, _describe, _topics_of, texts=TEXTS)
