"""OffsetDelete deletes committed offsets of topics that the group does not subscribe to (KIP-496, docs/kafka/offsets.md#offsetdelete).
The group's own checks come before anything about topics."""

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

from ..budget import Ration, within
from ..groups import causes
from ..java.hashes import partition_hash
from ..java.orders import scala_map_order

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..groups.type import GroupType
    from ..turn import Turn

TOPIC_COST: Final = 4  # Units of work (core.budget)
PARTITION_COST: Final = 6
NAMES_PER_UNIT: Final = 2


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Delete committed offsets of topics the group does not use."""
    message = request.message
    assert isinstance(message, OffsetDeleteRequest)
    ration = Ration(turn.settings)
    ration.take_names([topic.name for topic in message.topics], TOPIC_COST)
    ration.take(within([topic.partitions for topic in message.topics]), PARTITION_COST)
    # "" is no group here, though commits accept it as one (SERVER-07); a null never passes the codec (P2-b8).
    error, group = cluster.groups.reach(message.group_id, request.node) if message.group_id else (error_codes.INVALID_GROUP_ID, None)
    if group is None:
        turn.reply(request.ticket, OffsetDeleteResponse(error_code=error or error_codes.GROUP_ID_NOT_FOUND))
    elif error := group.admit_offset_deletion():
        turn.reply(request.ticket, OffsetDeleteResponse(error_code=error))
    else:
        ration.take(group.unread_names() // NAMES_PER_UNIT)
        turn.reply(request.ticket, OffsetDeleteResponse(topics=_delete(cluster, turn, group, message.topics)))


Result = tuple[int, str, int, int]
Head = tuple[int, str]


def _delete(cluster: Cluster, turn: Turn, group: GroupType, topics: list[OffsetDeleteRequestTopic]) -> list[OffsetDeleteResponseTopic]:
    """Delete offsets of a group. Topics with a refused partition come first, as in OffsetCommit (seen on 4.3.0 and 3.9.1). An unknown
    topic counts even without partitions: 4.3.0 and 3.9.1 name it in the answer."""
    refused: list[Result] = []
    done: list[Result] = []
    heads: list[Head] = []
    for entry, topic in enumerate(topics):
        count = cluster.topics.partitions(topic.name)
        if count is None or any(not 0 <= each.partition_index < count for each in topic.partitions):
            heads.append((entry, topic.name))
        for partition in topic.partitions:
            index = partition.partition_index
            if count is None or not 0 <= index < count:
                refused.append((entry, topic.name, index, error_codes.UNKNOWN_TOPIC_OR_PARTITION))
            else:
                done.append((entry, topic.name, index, _delete_one(turn, group, topic.name, index)))
    # 3.9; 4.3 keeps the Empty group until the sweep (P2-c11).
    if turn.quirks.last_offset_deletes_group and done and group.is_empty() and group.offsets.used_up:
        cluster.groups.delete(turn, group, causes.LAST_OFFSET_DELETED)
    if turn.quirks.duplicates_answered_once:
        done = _once(done)
    # 4.3 answers a topic listed twice as listed unless something was refused, 3.9 each partition once: docs/kafka/differences.md#groups
    return _grouped(heads, refused + done, merge=bool(heads) or turn.quirks.duplicates_answered_once)


def _once(done: list[Result]) -> list[Result]:
    """Return the rows of the old coordinator, which answers from a map: topics in use first, each partition once."""
    found = {(name, index): one for one in sorted(done, key=lambda one: not one[3]) for _, name, index, _ in (one,)}
    return [found[at] for at in scala_map_order(found, partition_hash)]


def _delete_one(turn: Turn, group: GroupType, topic: str, index: int) -> int:
    if group.subscribed_to(topic):
        return error_codes.GROUP_SUBSCRIBED_TO_TOPIC
    # 0 also when there was no offset: docs/kafka/offsets.md#offsetdelete. The older coordinator keeps the transactions with pending
    # offsets there (GroupMetadata.removeOffsets), and with them the group
    group.offsets.discard((topic, index), turn.quirks.last_offset_deletes_group)
    return error_codes.NONE


def _grouped(heads: list[Head], results: list[Result], merge: bool) -> list[OffsetDeleteResponseTopic]:
    """Return `heads`, then topics in order of first appearance. `merge`: a topic listed twice is answered once, as when something was
    refused."""
    topics: dict[str | int, OffsetDeleteResponseTopic] = {}

    def row(entry: int, name: str) -> OffsetDeleteResponseTopic:
        return topics.setdefault(name if merge else entry, OffsetDeleteResponseTopic(name=name, partitions=[]))

    for entry, name in heads:
        row(entry, name)
    for entry, name, index, error in results:
        row(entry, name).partitions.append(OffsetDeleteResponsePartition(partition_index=index, error_code=error))
    return list(topics.values())
