"""AlterReplicaLogDirs (34) would move a replica to another directory of its node (KIP-113). Each node has one, so nothing ever moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k34_alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

from ..authorizer.acl import ALTER
from ..authorizer.right import Right
from ..budget import Ration
from ..java.hashes import java_hash
from ..java.orders import java_order
from ..log.directory import LOG_DIR

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

NAME_COST: Final = 3
PARTITION_COST: Final = 2

RIGHTS: Final = (Right(ALTER),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer one row per topic, without moving anything. If a partition is named for two directories, the last one counts."""
    asked = request.message
    assert isinstance(asked, AlterReplicaLogDirsRequest)
    ration = Ration(turn.settings)
    wanted: dict[str, dict[int, str]] = {}
    for each in asked.dirs:
        ration.take_names([each.path, *(topic.name for topic in each.topics)], NAME_COST)
        for topic in each.topics:
            ration.take(len(topic.partitions), PARTITION_COST)
            if topic.partitions:
                wanted.setdefault(topic.name, {}).update(dict.fromkeys(topic.partitions, each.path))
    results = [
        AlterReplicaLogDirTopicResult(
            topic_name=name,
            partitions=[
                AlterReplicaLogDirPartitionResult(partition_index=index, error_code=_altered(cluster, request.node, name, index, path))
                for index, path in wanted[name].items()
            ],
        )
        for name in java_order(wanted, java_hash)
    ]
    turn.reply(request.ticket, AlterReplicaLogDirsResponse(results=results))


def _altered(cluster: Cluster, node: int, topic: str, index: int, path: str) -> int:
    """Return the error with which a replica's move is refused, or 0. The directory is checked before the partition
    (ReplicaManager.alterReplicaLogDirs)."""
    if path != LOG_DIR:
        return error_codes.LOG_DIR_NOT_FOUND
    partition = cluster.topics.find(topic, index)
    if partition is None:
        return error_codes.UNKNOWN_TOPIC_OR_PARTITION
    return error_codes.NONE if node in partition.replicas else error_codes.REPLICA_NOT_AVAILABLE


def refused(request: Request, code: int, text: str) -> AlterReplicaLogDirsResponse:
    asked = request.message
    assert isinstance(asked, AlterReplicaLogDirsRequest)
    results = [
        AlterReplicaLogDirTopicResult(
            topic_name=topic.name,
            partitions=[AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code) for index in topic.partitions],
        )
        for each in asked.dirs
        for topic in each.topics
    ]
    return AlterReplicaLogDirsResponse(results=results)
