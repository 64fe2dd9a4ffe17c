"""DescribeShareGroupOffsets (90) tells how far share groups are, by the stored states of their share partitions (KIP-932; SG-100 ff.)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k90_describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)

from ..authorizer.acl import DENIED_TEXT, DESCRIBE, GROUP, TOPIC
from ..budget import Ration
from ..groups.share.type import ShareGroup
from ..java.hashes import int_hash, uuid_hash
from ..java.orders import java_computed_order, java_order

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

GROUP_COST: Final = 4
TOPIC_COST: Final = 4
PARTITION_COST: Final = 4
NOT_COORDINATOR: Final = "This is not the correct coordinator."
TEXTS: Final = {
    error_codes.NOT_COORDINATOR: NOT_COORDINATOR,
    error_codes.UNKNOWN_SERVER_ERROR: "The server experienced an unexpected error when processing the request.",
}
NO_START: Final = -1
"""The start offset and the lag of a share partition of which nothing is stored."""


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer the groups in request order, each with its own error."""
    asked = request.message
    assert isinstance(asked, DescribeShareGroupOffsetsRequest)
    _take(cluster, turn, asked)
    denied = cluster.denied(turn, request, DESCRIBE, GROUP, (group.group_id for group in asked.groups))
    groups = []
    for group in asked.groups:
        answer = DescribeShareGroupOffsetsResponseGroup(group_id=group.group_id)
        if not turn.environment.share_groups:
            answer.error_code = error_codes.UNSUPPORTED_VERSION
        elif group.group_id in denied:
            answer.error_code = error_codes.GROUP_AUTHORIZATION_FAILED
        else:
            _describe(cluster, turn, request, group, answer)
        groups.append(answer)
    turn.reply(request.ticket, DescribeShareGroupOffsetsResponse(groups=groups))


def _take(cluster: Cluster, turn: Turn, asked: DescribeShareGroupOffsetsRequest) -> None:
    """Count every partition that is described against the work limit of the request."""
    ration = Ration(turn.settings)
    ration.take_names([group.group_id for group in asked.groups], GROUP_COST)
    for group in asked.groups:
        if group.topics is None:
            found = cluster.groups.find(group.group_id)
            if isinstance(found, ShareGroup):
                ration.take(sum(map(len, found.initialized.values())), PARTITION_COST)
            continue
        ration.take_names([topic.topic_name for topic in group.topics], TOPIC_COST)
        ration.take(sum(len(topic.partitions) for topic in group.topics), PARTITION_COST)


def _describe(
    cluster: Cluster,
    turn: Turn,
    request: Request,
    asked: DescribeShareGroupOffsetsRequestGroup,
    answer: DescribeShareGroupOffsetsResponseGroup,
) -> None:
    """Fill the answer for one group. Partitions without a stored state, and topics that do not exist, are no error (SG-100). If the sender
    may see none of the named topics, nobody asks the group's coordinator."""
    hidden = cluster.denied(turn, request, DESCRIBE, TOPIC, (topic.topic_name for topic in asked.topics or ()))
    refused = [_refused(topic.topic_name, topic.partitions) for topic in asked.topics or () if topic.topic_name in hidden]
    if asked.topics and len(refused) == len(asked.topics):
        answer.topics = refused
        return
    error, group = cluster.groups.reach(asked.group_id, request.node)
    if not asked.group_id and asked.topics:
        error = error_codes.UNKNOWN_SERVER_ERROR
    if error:
        answer.error_code, answer.error_message = error, TEXTS.get(error)
        return
    if asked.topics is not None:
        named = {name: list(topic.partitions) for topic in asked.topics if (name := topic.topic_name) not in hidden}
        ids = {topic_id: name for name in named if (topic_id := cluster.topics.topic_id(name)) is not None}
        ordered = [ids[topic_id] for topic_id in java_computed_order(ids, uuid_hash)]
        answer.topics = [
            *(
                _topic(cluster, asked.group_id, name, cluster.topics.topic_id(name), java_computed_order(named[name], int_hash))
                for name in ordered
            ),
            *(_topic(cluster, asked.group_id, name, None, named[name]) for name in named if name not in ordered),
            *refused,
        ]
    elif isinstance(group, ShareGroup):
        order = java_computed_order(java_order(group.initialized, uuid_hash), uuid_hash)
        known = [(topic_id, cluster.topics.name_of(topic_id)) for topic_id in order]
        hidden = cluster.denied(turn, request, DESCRIBE, TOPIC, (name for _, name in known if name is not None))
        answer.topics = [
            _topic(cluster, asked.group_id, name, topic_id, java_order(group.initialized[topic_id], int))
            for topic_id, name in known
            if name is not None and name not in hidden
        ]


def _refused(name: str, partitions: Iterable[int]) -> DescribeShareGroupOffsetsResponseTopic:
    rows = [
        DescribeShareGroupOffsetsResponsePartition(
            partition_index=index,
            start_offset=NO_START,
            error_code=error_codes.TOPIC_AUTHORIZATION_FAILED,
            error_message=DENIED_TEXT[TOPIC],
        )
        for index in partitions
    ]
    return DescribeShareGroupOffsetsResponseTopic(topic_name=name, partitions=rows)


def _topic(
    cluster: Cluster, group_id: str, name: str, topic_id: bytes | None, partitions: Iterable[int]
) -> DescribeShareGroupOffsetsResponseTopic:
    rows = [_row(cluster, group_id, topic_id or bytes(16), index) for index in partitions]
    return DescribeShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id or bytes(16), partitions=rows)


def _row(cluster: Cluster, group_id: str, topic_id: bytes, index: int) -> DescribeShareGroupOffsetsResponsePartition:
    stored = cluster.shares.stored(group_id, topic_id, index)
    if stored is None:
        return DescribeShareGroupOffsetsResponsePartition(partition_index=index, start_offset=NO_START, lag=NO_START)
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=index,
        start_offset=stored.start_offset,
        leader_epoch=stored.leader_epoch,
        lag=cluster.shares.lag(group_id, topic_id, index),
    )
