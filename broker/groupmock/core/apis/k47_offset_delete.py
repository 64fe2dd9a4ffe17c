"""OffsetDelete (KIP-496, spec 3.3). The group's own checks come before anything about topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

from ..group import codes
from ..group.states import EMPTY
from ..group.turn import Turn

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..effects import Effects
    from ..events import Request
    from ..group.group import Group


def handle(cluster: Cluster, request: Request, now: int, out: Effects) -> None:
    """Delete committed offsets of topics the group does not use."""
    message = request.message
    assert isinstance(message, OffsetDeleteRequest)
    turn = Turn(cluster, now, out)
    error = _gate(turn, request, message)
    group = None if error else cluster.coordinators.find(message.group_id)
    if error or group is None:
        turn.reply(request.ticket, OffsetDeleteResponse(error_code=error or codes.GROUP_ID_NOT_FOUND))
    elif group.state is not EMPTY and group.protocol_type != "consumer":
        turn.reply(request.ticket, OffsetDeleteResponse(error_code=codes.NON_EMPTY_GROUP))
    else:
        turn.reply(request.ticket, OffsetDeleteResponse(topics=_delete(turn, group, message.topics)))


def _gate(turn: Turn, request: Request, message: OffsetDeleteRequest) -> int:
    if not message.group_id:
        return codes.INVALID_GROUP_ID
    return turn.cluster.coordinators.gate(message.group_id, request.node)


Result = tuple[str, int, int]


def _delete(turn: Turn, group: Group, topics: list[OffsetDeleteRequestTopic]) -> list[OffsetDeleteResponseTopic]:
    """Topics with a refused partition first, as in OffsetCommit (checked-on-brokers part 2 (b)2)."""
    refused: list[Result] = []
    done: list[Result] = []
    for topic in topics:
        count = turn.cluster.topics.partitions(topic.name)
        for partition in topic.partitions:
            index = partition.partition_index
            if count is None or not 0 <= index < count:
                refused.append((topic.name, index, codes.UNKNOWN_TOPIC_OR_PARTITION))
            else:
                done.append((topic.name, index, _delete_one(group, topic.name, index)))
    if turn.quirks.last_offset_deletes_group and done and group.state is EMPTY and not group.offsets:
        turn.cluster.coordinators.delete(turn, group, "its last offset was deleted")
    return _grouped(refused + done)


def _delete_one(group: Group, topic: str, index: int) -> int:
    if group.subscribed_to(topic):
        return codes.GROUP_SUBSCRIBED_TO_TOPIC
    group.offsets.pop((topic, index), None)
    return codes.NONE


def _grouped(results: list[Result]) -> list[OffsetDeleteResponseTopic]:
    topics: dict[str, OffsetDeleteResponseTopic] = {}
    for name, index, error in results:
        topic = topics.setdefault(name, OffsetDeleteResponseTopic(name=name, partitions=[]))
        topic.partitions.append(OffsetDeleteResponsePartition(partition_index=index, error_code=error))
    return list(topics.values())
