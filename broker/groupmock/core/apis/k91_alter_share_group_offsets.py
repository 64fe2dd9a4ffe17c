"""AlterShareGroupOffsets (91) sets the start offsets of a share group without members (KIP-932; SG-102 to SG-109)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.declare import ZERO_UUID
from groupmock_codec.messages.k91_alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)

from ..authorizer.acl import DENIED, DENIED_TEXT, GROUP, READ, TOPIC
from ..budget import Ration, fitting
from ..groups import causes
from ..groups.refused import Refused
from ..groups.share.beat import not_found
from ..groups.share.type import ShareGroup
from ..log.internal import try_make
from ..log.names import SHARE_TOPIC
from .k90_describe_share_group_offsets import NOT_COORDINATOR

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

TOPIC_COST: Final = 4
PARTITION_COST: Final = 4
NOT_EMPTY: Final = "The group is not empty."
INVALID_ID: Final = "The group id is invalid."
NOT_HOSTED: Final = "This server does not host this topic-partition."
NOT_SERVED: Final = "The version of API is not supported."


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer a code per partition, or refuse the whole request. A group that does not exist is created (SG-107)."""
    asked = request.message
    assert isinstance(asked, AlterShareGroupOffsetsRequest)
    ration = Ration(turn.settings)
    ration.take_names([topic.topic_name for topic in asked.topics], TOPIC_COST)
    ration.take(sum(len(topic.partitions) for topic in asked.topics), PARTITION_COST)
    try:
        group = vacant(cluster, turn, request, asked.group_id, READ)
        if not asked.topics:
            answer = AlterShareGroupOffsetsResponse()
        else:
            answer = AlterShareGroupOffsetsResponse(responses=_altered(cluster, turn, request, asked, group))
    except Refused as refused:
        answer = AlterShareGroupOffsetsResponse(error_code=refused.code, error_message=fitting(str(refused)) or None)
    turn.reply(request.ticket, answer)


def vacant(cluster: Cluster, turn: Turn, request: Request, group_id: str, operation: int) -> ShareGroup | None:
    """Return the share group, which may not have members, or None if it does not exist. `operation` is the right to the group that the
    sender needs. Raises Refused."""
    if not turn.environment.share_groups:
        raise Refused(error_codes.UNSUPPORTED_VERSION, NOT_SERVED)
    if cluster.denied(turn, request, operation, GROUP, (group_id,)):
        raise Refused(DENIED[GROUP], DENIED_TEXT[GROUP])
    if not group_id:
        raise Refused(error_codes.INVALID_GROUP_ID, INVALID_ID)
    error, group = cluster.groups.reach(group_id, request.node)
    if error:
        raise Refused(error, NOT_COORDINATOR if error == error_codes.NOT_COORDINATOR else "")
    if group is not None and not isinstance(group, ShareGroup):
        raise not_found(group_id, exists=True, epoch=0)
    if group is not None and group.members:
        raise Refused(error_codes.NON_EMPTY_GROUP, NOT_EMPTY)
    return group


def _altered(
    cluster: Cluster, turn: Turn, request: Request, asked: AlterShareGroupOffsetsRequest, group: ShareGroup | None
) -> list[AlterShareGroupOffsetsResponseTopic]:
    """Alter the offsets of topics. The topics that the sender may not read come first in the answer, with their ids."""
    denied = cluster.denied(turn, request, READ, TOPIC, (topic.topic_name for topic in asked.topics))
    rows = []
    for topic in asked.topics:
        if topic.topic_name in denied:
            row = _refused(topic, DENIED[TOPIC], DENIED_TEXT[TOPIC])
            row.topic_id = cluster.topics.topic_id(topic.topic_name) or ZERO_UUID
            rows.append(row)
    for topic in asked.topics:
        if topic.topic_name in denied:
            continue
        found = cluster.topics.get(topic.topic_name)
        if found is None:
            rows.append(_refused(topic, error_codes.UNKNOWN_TOPIC_OR_PARTITION, NOT_HOSTED))
            continue
        exists = range(len(found.partitions))
        wanted = {each.partition_index: each.start_offset for each in topic.partitions if each.partition_index in exists}
        if wanted:
            if group is None:
                group = cluster.groups.claim(turn, asked.group_id, ShareGroup, causes.share_offsets_altered(request.client_id))
                assert group is not None, "no other group has the id"
                group.catch_up()
            _set(cluster, turn, group, topic.topic_name, found.topic_id, wanted)
        row = _refused(topic, error_codes.UNKNOWN_TOPIC_OR_PARTITION, NOT_HOSTED, frozenset(wanted))
        row.topic_id = found.topic_id
        rows.append(row)
    return rows


def _set(cluster: Cluster, turn: Turn, group: ShareGroup, name: str, topic_id: bytes, wanted: dict[int, int]) -> None:
    """Store start offsets of a topic. By the epoch of the group, sessions notice that the states which they know are gone."""
    try_make(turn, cluster.topics, SHARE_TOPIC)
    for index, offset in wanted.items():
        cluster.shares.initialize(turn, group.group_id, topic_id, [index], group.generation, offset)
    group.initialize(topic_id, wanted)
    turn.note("share_offsets_altered", group=group.group_id, topic=name, start_offsets={str(index): wanted[index] for index in wanted})


def _refused(
    topic: AlterShareGroupOffsetsRequestTopic, code: int, text: str, fine: frozenset[int] = frozenset()
) -> AlterShareGroupOffsetsResponseTopic:
    """Return the answer for a topic whose partitions are refused, except those that are `fine`."""
    rows = [
        AlterShareGroupOffsetsResponsePartition(partition_index=each.partition_index)
        if each.partition_index in fine
        else AlterShareGroupOffsetsResponsePartition(partition_index=each.partition_index, error_code=code, error_message=text)
        for each in topic.partitions
    ]
    return AlterShareGroupOffsetsResponseTopic(topic_name=topic.topic_name, partitions=rows)
