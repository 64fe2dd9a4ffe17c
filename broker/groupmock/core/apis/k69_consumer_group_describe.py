"""ConsumerGroupDescribe (69) describes consumer groups with members, assignments and targets (KIP-848, KIP-1099; CG-50 to CG-57)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k69_consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    TopicPartitions,
)

from ..authorizer.acl import DESCRIBE, GROUP, TOPIC
from ..budget import Ration, fitting
from ..groups.consumer.type import ConsumerGroup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

GROUP_COST: Final = 9
MEMBER_COST: Final = 8
PARTITION_COST: Final = 1
HIDDEN: Final = "The group has described topic(s) that the client is not authorized to describe."


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Describe each group, even one that is listed twice. Empty ids come first, the others by partition of the offsets topic."""
    asked = request.message
    assert isinstance(asked, ConsumerGroupDescribeRequest)
    ration = _price(cluster, turn, asked.group_ids)
    if not turn.environment.consumer_groups:
        groups = [DescribedGroup(group_id=group_id, error_code=error_codes.UNSUPPORTED_VERSION) for group_id in asked.group_ids]
    else:
        denied = cluster.denied(turn, request, DESCRIBE, GROUP, asked.group_ids)
        code = error_codes.GROUP_AUTHORIZATION_FAILED
        groups = [DescribedGroup(group_id=each, error_code=code, error_message=None) for each in asked.group_ids if each in denied]
        allowed = [group_id for group_id in asked.group_ids if group_id not in denied]
        empty = [group_id for group_id in allowed if not group_id]
        groups += [DescribedGroup(group_id=group_id, error_code=error_codes.INVALID_GROUP_ID) for group_id in empty]
        named = cluster.groups.in_order(turn, [group_id for group_id in allowed if group_id])
        groups += [_described(cluster, turn, request, group_id) for group_id in named]
        if cluster.authorizer is not None:
            groups = _without_hidden_topics(cluster, turn, request, groups)
    ration.take(0, size=sum(map(_size, groups)))
    for group in groups:
        if asked.include_authorized_operations and not group.error_code:
            group.authorized_operations = cluster.operations(request, GROUP, group.group_id)
    turn.reply(request.ticket, ConsumerGroupDescribeResponse(groups=groups))


def _without_hidden_topics(cluster: Cluster, turn: Turn, request: Request, groups: list[DescribedGroup]) -> list[DescribedGroup]:
    """Refuse the groups in whose assignments or targets is a topic that the sender may not describe (SEC-118)."""
    topics = [(group, dict.fromkeys(each.topic_name for each in _topics_of(group))) for group in groups]
    denied = cluster.denied(turn, request, DESCRIBE, TOPIC, (name for _, names in topics for name in names))
    code = error_codes.TOPIC_AUTHORIZATION_FAILED
    return [
        DescribedGroup(group_id=group.group_id, error_code=code, error_message=HIDDEN) if denied.intersection(names) else group
        for group, names in topics
    ]


def _topics_of(group: DescribedGroup) -> Iterator[TopicPartitions]:
    for member in group.members:
        yield from member.assignment.topic_partitions
        yield from member.target_assignment.topic_partitions


def _price(cluster: Cluster, turn: Turn, group_ids: list[str]) -> Ration:
    """Count the description of every member and partition, as often as their group is named, against the work limit of the request."""
    ration = Ration(turn.settings)
    ration.take_names(group_ids, GROUP_COST)
    for group_id, times in Counter(group_ids).items():
        group = cluster.groups.find(group_id)
        if isinstance(group, ConsumerGroup):
            ration.take(times * len(group.members), MEMBER_COST)
            ration.take(times * len(group.holders), 2 * PARTITION_COST)
    return ration


def _size(group: DescribedGroup) -> int:
    return len(group.group_id) + sum(len(each.member_id) + sum(map(len, each.subscribed_topic_names)) for each in group.members)


def _described(cluster: Cluster, turn: Turn, request: Request, group_id: str) -> DescribedGroup:
    error, group = cluster.groups.reach(group_id, request.node)
    if error:
        return DescribedGroup(group_id=group_id, error_code=error)
    if isinstance(group, ConsumerGroup):
        from ..groups.consumer.view import describe  # This import is late, because a server that only listens does not need it.

        return describe(turn, group, cluster.topics)
    text = fitting(f"Group {group_id} not found." if group is None else f"Group {group_id} is not a consumer group.")
    return DescribedGroup(group_id=group_id, error_code=error_codes.GROUP_ID_NOT_FOUND, error_message=text)
