"""ShareGroupDescribe (77) describes share groups with members and assignments (KIP-932; SG-50 to SG-52)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k77_share_group_describe import DescribedGroup, ShareGroupDescribeRequest, ShareGroupDescribeResponse

from ..authorizer.acl import DESCRIBE, GROUP, TOPIC
from ..budget import Ration, fitting
from ..groups.share.type import ShareGroup
from .k69_consumer_group_describe import GROUP_COST, HIDDEN, MEMBER_COST, PARTITION_COST

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

EMPTY_ID: Final = error_codes.INVALID_GROUP_ID


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Describe each group, even one that is listed twice. Empty ids come first, the others by partition of the offsets topic."""
    asked = request.message
    assert isinstance(asked, ShareGroupDescribeRequest)
    ration = _price(cluster, turn, asked.group_ids)
    if not turn.environment.share_groups:
        groups = [DescribedGroup(group_id=group_id, error_code=error_codes.UNSUPPORTED_VERSION) for group_id in asked.group_ids]
    else:
        denied = cluster.denied(turn, request, DESCRIBE, GROUP, asked.group_ids)
        code = error_codes.GROUP_AUTHORIZATION_FAILED
        groups = [DescribedGroup(group_id=each, error_code=code) for each in asked.group_ids if each in denied]
        allowed = [group_id for group_id in asked.group_ids if group_id not in denied]
        groups += [DescribedGroup(group_id=group_id, error_code=EMPTY_ID) for group_id in allowed if not group_id]
        named = cluster.groups.in_order(turn, [group_id for group_id in allowed if group_id])
        groups += [_described(cluster, request, group_id) for group_id in named]
        if cluster.authorizer is not None:
            groups = _without_hidden_topics(cluster, turn, request, groups)
    ration.take(0, size=sum(map(_size, groups)))
    for group in groups:
        if asked.include_authorized_operations and not group.error_code:
            group.authorized_operations = cluster.operations(request, GROUP, group.group_id)
    turn.reply(request.ticket, ShareGroupDescribeResponse(groups=groups))


def _price(cluster: Cluster, turn: Turn, group_ids: list[str]) -> Ration:
    """Count the description of every member and partition, as often as their group is named, against the work limit of the request."""
    ration = Ration(turn.settings)
    ration.take_names(group_ids, GROUP_COST)
    for group_id, times in Counter(group_ids).items():
        group = cluster.groups.find(group_id)
        if isinstance(group, ShareGroup):
            ration.take(times * len(group.members), MEMBER_COST)
            ration.take(times * sum(group.held_partitions(member) for member in group.members.values()), PARTITION_COST)
    return ration


def _without_hidden_topics(cluster: Cluster, turn: Turn, request: Request, groups: list[DescribedGroup]) -> list[DescribedGroup]:
    """Refuse the groups in whose assignments is a topic that the sender may not describe."""
    topics = [
        (group, dict.fromkeys(each.topic_name for member in group.members for each in member.assignment.topic_partitions))
        for group in groups
    ]
    denied = cluster.denied(turn, request, DESCRIBE, TOPIC, (name for _, names in topics for name in names))
    code = error_codes.TOPIC_AUTHORIZATION_FAILED
    return [
        DescribedGroup(group_id=group.group_id, error_code=code, error_message=HIDDEN) if denied.intersection(names) else group
        for group, names in topics
    ]


def _size(group: DescribedGroup) -> int:
    return len(group.group_id) + sum(len(each.member_id) + sum(map(len, each.subscribed_topic_names)) for each in group.members)


def _described(cluster: Cluster, request: Request, group_id: str) -> DescribedGroup:
    error, group = cluster.groups.reach(group_id, request.node)
    if error:
        return DescribedGroup(group_id=group_id, error_code=error)
    if isinstance(group, ShareGroup):
        from ..groups.share.view import describe  # This import is late, because a server that only listens does not need it.

        return describe(group, cluster.topics)
    text = fitting(f"Group {group_id} not found." if group is None else f"Group {group_id} is not a share group.")
    return DescribedGroup(group_id=group_id, error_code=error_codes.GROUP_ID_NOT_FOUND, error_message=text)
