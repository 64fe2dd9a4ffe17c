"""OffsetDelete (47) deletes committed offsets of topics to which the group does not subscribe (KIP-496,
docs/kafka/offsets.md#offsetdelete). The group's own checks come before anything about topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

from ..authorizer.acl import DELETE, GROUP, READ, TOPIC
from ..authorizer.right import Right
from ..budget import Ration, within
from ..groups import causes
from ..java.hashes import partition_hash
from ..java.orders import scala_map_order

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..groups.type import GroupType
    from ..turn import Turn

TOPIC_COST: Final = 4
PARTITION_COST: Final = 6
NAMES_PER_UNIT: Final = 2

RIGHTS: Final = (Right(DELETE, GROUP, "group_id"),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    message = request.message
    assert isinstance(message, OffsetDeleteRequest)
    ration = Ration(turn.settings)
    ration.take_names([topic.name for topic in message.topics], TOPIC_COST)
    ration.take(within([topic.partitions for topic in message.topics]), PARTITION_COST)
    # OffsetDelete refuses the group id "", though commits accept it (SERVER-07). The codec refuses a null id (P2-b8).
    error, group = cluster.groups.reach(message.group_id, request.node) if message.group_id else (error_codes.INVALID_GROUP_ID, None)
    if group is None:
        turn.reply(request.ticket, OffsetDeleteResponse(error_code=error or error_codes.GROUP_ID_NOT_FOUND))
    elif error := group.admit_offset_deletion():
        turn.reply(request.ticket, OffsetDeleteResponse(error_code=error))
    else:
        ration.take(group.unread_names() // NAMES_PER_UNIT)
        turn.reply(request.ticket, OffsetDeleteResponse(topics=_delete(cluster, turn, request, group, message.topics)))


Result = tuple[int, str, int, int]
Head = tuple[int, str]


def _delete(
    cluster: Cluster, turn: Turn, request: Request, group: GroupType, topics: list[OffsetDeleteRequestTopic]
) -> list[OffsetDeleteResponseTopic]:
    """Delete the offsets, and answer a code per partition. Topics with a refused partition come first, as in OffsetCommit (seen on 4.3.0
    and 3.9.1). An unknown topic counts even without partitions: 4.3.0 and 3.9.1 name it in the answer."""
    refused: list[Result] = []
    done: list[Result] = []
    heads: list[Head] = []
    denied = cluster.denied(turn, request, READ, TOPIC, (topic.name for topic in topics))
    for entry, topic in enumerate(topics):
        count = None if topic.name in denied else cluster.topics.partitions(topic.name)
        unknown = error_codes.TOPIC_AUTHORIZATION_FAILED if topic.name in denied else error_codes.UNKNOWN_TOPIC_OR_PARTITION
        if count is None or any(not 0 <= each.partition_index < count for each in topic.partitions):
            heads.append((entry, topic.name))
        for partition in topic.partitions:
            index = partition.partition_index
            if count is None or not 0 <= index < count:
                refused.append((entry, topic.name, index, unknown))
            else:
                done.append((entry, topic.name, index, _delete_one(turn, group, topic.name, index)))
    # Kafka 3.9 deletes the group with its last offset. Kafka 4.3 keeps the Empty group until the retention sweep (P2-c11).
    if turn.quirks.last_offset_deletes_group and done and group.is_empty() and group.offsets.used_up:
        cluster.groups.delete(turn, group, causes.LAST_OFFSET_DELETED)
    if turn.quirks.duplicates_answered_once:
        done = _once(done)
    # Kafka 4.3 answers a topic that is listed twice in two elements unless something was refused, and Kafka 3.9 answers each partition
    # once: docs/kafka/differences.md#groups
    return _grouped(heads, refused + done, merge=bool(heads) or turn.quirks.duplicates_answered_once)


def _once(done: list[Result]) -> list[Result]:
    """Return each partition once, as Kafka 3.9 does, in the order of its map, into which the topics in use are put first."""
    found = {(name, index): one for one in sorted(done, key=lambda one: not one[3]) for _, name, index, _ in (one,)}
    return [found[at] for at in scala_map_order(found, partition_hash)]


def _delete_one(turn: Turn, group: GroupType, topic: str, index: int) -> int:
    if group.subscribed_to(topic):
        return error_codes.GROUP_SUBSCRIBED_TO_TOPIC
    # A partition without an offset is no error (docs/kafka/offsets.md#offsetdelete). Kafka 3.9 keeps the group if transactions have pending
    # offsets in the partition (GroupMetadata.removeOffsets).
    group.offsets.discard((topic, index), turn.quirks.last_offset_deletes_group)
    return error_codes.NONE


def _grouped(heads: list[Head], results: list[Result], merge: bool) -> list[OffsetDeleteResponseTopic]:
    """Group the results by topic: first the topics in `heads`, then the others in order of first appearance. `merge`: a topic listed
    twice is answered once, as when something was refused."""
    topics: dict[str | int, OffsetDeleteResponseTopic] = {}

    def row(entry: int, name: str) -> OffsetDeleteResponseTopic:
        return topics.setdefault(name if merge else entry, OffsetDeleteResponseTopic(name=name, partitions=[]))

    for entry, name in heads:
        row(entry, name)
    for entry, name, index, error in results:
        row(entry, name).partitions.append(OffsetDeleteResponsePartition(partition_index=index, error_code=error))
    return list(topics.values())
