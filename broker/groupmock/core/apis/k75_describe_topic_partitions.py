"""DescribeTopicPartitions (75) describes topics in pages of partitions (KIP-966). Topics are sorted by name, and a cursor says where the
next page begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k75_describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

from ..authorizer.acl import DESCRIBE, TOPIC
from ..budget import Ration
from ..java.hashes import java_hash
from ..java.orders import java_order
from ..log import names
from ..log.replicas import in_sync, offline
from ..log.topics import Topic

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

NAME_COST: Final = 4
MOST_PARTITIONS: Final = 2000  # The default of Kafka's max.request.partition.size.limit is 2000.


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Describe one page of the topics. A cursor whose topic was not asked for, or with a negative partition, is INVALID_REQUEST for
    every topic. Kafka throws for an empty name, and every topic gets UNKNOWN_SERVER_ERROR."""
    asked = request.message
    assert isinstance(asked, DescribeTopicPartitionsRequest)
    ration = Ration(turn.settings)
    ration.take_names([topic.name for topic in asked.topics], NAME_COST)
    # The cost includes all topics, because all are sorted, though only a page is answered.
    ration.take(0 if asked.topics else cluster.topics.count)
    wanted = sorted({topic.name for topic in asked.topics} or cluster.topics.names())
    cursor = asked.cursor
    if cursor is not None:
        if cursor.partition_index < 0 or (asked.topics and cursor.topic_name not in wanted):
            turn.reply(request.ticket, _refused(asked, error_codes.INVALID_REQUEST))
            return
        wanted = [name for name in wanted if name >= cursor.topic_name]
    if asked.topics:
        denied = cluster.denied(turn, request, DESCRIBE, TOPIC, wanted)
    else:
        denied = frozenset([name for name in wanted if not cluster.allows(request, DESCRIBE, TOPIC, name)])
    refused = [topic.name for topic in asked.topics if topic.name in denied]
    unauthorized = _unauthorized(sorted(refused) if turn.quirks.refused_topics_sorted else refused)
    wanted = [name for name in wanted if name not in denied]
    if "" in wanted:
        turn.reply(request.ticket, _refused(asked, error_codes.UNKNOWN_SERVER_ERROR))
        return
    limit = min(max(1, asked.response_partition_limit), MOST_PARTITIONS)
    answer = _page(cluster, wanted, cursor, limit)
    for row in answer.topics:
        row.topic_authorized_operations = cluster.operations(request, TOPIC, row.name or "")
    answer.topics += unauthorized
    turn.reply(request.ticket, answer)


def _unauthorized(names: list[str]) -> list[DescribeTopicPartitionsResponseTopic]:
    code = error_codes.TOPIC_AUTHORIZATION_FAILED
    return [DescribeTopicPartitionsResponseTopic(error_code=code, name=name) for name in java_order(names, java_hash)]


def _refused(asked: DescribeTopicPartitionsRequest, code: int) -> DescribeTopicPartitionsResponse:
    rows = [DescribeTopicPartitionsResponseTopic(error_code=code, name=topic.name) for topic in asked.topics]
    return DescribeTopicPartitionsResponse(topics=rows)


def _page(cluster: Cluster, wanted: list[str], cursor: Cursor | None, limit: int) -> DescribeTopicPartitionsResponse:
    found: list[DescribeTopicPartitionsResponseTopic] = []
    left = limit
    for name in wanted:
        topic = cluster.topics.get(name)
        if topic is None:
            # Unlike in Metadata, unknown topics are sorted among the others by name:
            # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
            found.append(_missing(name))
            continue
        first = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        if left == 0:
            return DescribeTopicPartitionsResponse(topics=found, next_cursor=Cursor(topic_name=name, partition_index=first))
        row = _row(cluster, topic, first, left)
        found.append(row)
        left -= len(row.partitions)
        after = first + len(row.partitions)
        if after < len(topic.partitions):
            return DescribeTopicPartitionsResponse(topics=found, next_cursor=Cursor(topic_name=name, partition_index=after))
    return DescribeTopicPartitionsResponse(topics=found)


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    code = error_codes.UNKNOWN_TOPIC_OR_PARTITION if names.why_invalid(name) is None else error_codes.INVALID_TOPIC_EXCEPTION
    return DescribeTopicPartitionsResponseTopic(error_code=code, name=name)


def _row(cluster: Cluster, topic: Topic, first: int, limit: int) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.internal,
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                error_code=error_codes.NONE if partition.leader >= 0 else error_codes.LEADER_NOT_AVAILABLE,
                partition_index=partition.index,
                leader_id=partition.leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=partition.replicas,
                isr_nodes=in_sync(cluster.environment, partition),
                eligible_leader_replicas=[],
                last_known_elr=[],
                offline_replicas=offline(cluster.environment, partition),
            )
            for partition in topic.partitions[first : first + limit]
        ],
    )
