"""DescribeLogDirs (35) lists the partitions of a node with the bytes that are kept of each (KIP-113, KIP-827). Each node has one
directory. Its volume's size and room are unknown (-1), because records are in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec.messages.k35_describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

from ..authorizer.acl import DESCRIBE
from ..authorizer.right import Right
from ..budget import Ration
from ..log.directory import LOG_DIR

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..cluster import Cluster
    from ..events import Request
    from ..log.topics import Topic
    from ..turn import Turn

TOPIC_COST: Final = 3
PARTITION_COST: Final = 1
NAME_COST: Final = 2

RIGHTS: Final = (Right(DESCRIBE),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Describe the node's log directory, without partitions that do not exist."""
    asked = request.message
    assert isinstance(asked, DescribeLogDirsRequest)
    topics, ration = cluster.topics, Ration(turn.settings)
    ration.take(topics.count, TOPIC_COST)
    ration.take(topics.partition_count, PARTITION_COST)
    wanted: dict[str, set[int]] = {}
    for each in asked.topics or ():
        ration.take_names([each.topic], NAME_COST)
        ration.take(len(each.partitions), PARTITION_COST)
        wanted.setdefault(each.topic, set()).update(each.partitions)
    there = [topic for name in topics.names() if (topic := topics.get(name)) is not None]
    rows = [_row(topic, request.node, None if asked.topics is None else wanted.get(topic.name, ())) for topic in there]
    shown = [row for row in rows if row.partitions]
    turn.reply(request.ticket, DescribeLogDirsResponse(results=[DescribeLogDirsResult(log_dir=LOG_DIR, topics=shown)]))


def _row(topic: Topic, node: int, wanted: Collection[int] | None) -> DescribeLogDirsTopic:
    """Return the row of a topic, with those partitions of which the node has a replica. `wanted` is None for all of them."""
    return DescribeLogDirsTopic(
        name=topic.name,
        partitions=[
            DescribeLogDirsPartition(partition_index=each.index, partition_size=each.size)
            for each in topic.partitions
            if node in each.replicas and (wanted is None or each.index in wanted)
        ],
    )
