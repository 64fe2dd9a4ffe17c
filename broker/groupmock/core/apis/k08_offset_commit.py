"""OffsetCommit (8) stores offsets of a group (docs/kafka/offsets.md#offsetcommit; order of the answer: P2-b2)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

from ..authorizer.acl import GROUP, READ, TOPIC
from ..authorizer.right import Right
from ..budget import Ration, within
from ..groups import causes
from ..groups.offsets import commits
from ..groups.offsets.commit_topics import Head, Line, Result, Rows, grouped, heads_of, lines_of, names_of
from ..groups.offsets.commits import Commit, Prepared
from ..groups.type import Committer
from ..java.hashes import id_partition_hash
from ..java.orders import scala_map_order, scala_table_order

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn
    from ..work import Steps

TOPIC_COST: Final = 5
PARTITION_COST: Final = 7
IDS_SINCE: Final = 10  # Since this version of OffsetCommit, topics have ids and no names (KIP-848).

RIGHTS: Final = (Right(READ, GROUP, "group_id"),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Check the topics and then the group, and store the offsets of the partitions that passed. The answer has no top-level error. Many
    partitions are handled in steps."""
    message = request.message
    assert isinstance(message, OffsetCommitRequest)
    ration = Ration(turn.settings)
    ration.take_names([topic.name for topic in message.topics], TOPIC_COST)
    partitions = within([topic.partitions for topic in message.topics])
    ration.take(partitions, PARTITION_COST)
    turn.begin_request(partial(_answered, cluster, request, message), partitions, (message.group_id,))


def _answered(cluster: Cluster, request: Request, message: OffsetCommitRequest, turn: Turn) -> Steps:
    topics, by_id = cluster.topics, request.version >= IDS_SINCE
    denied = cluster.denied(turn, request, READ, TOPIC, names_of(topics, message.topics, by_id))
    while True:
        lines, deleted = lines_of(topics, message.topics, by_id, denied), topics.deleted
        # The topics are checked before anything is stored. If a partition is listed twice, Kafka 3.9 only considers the last entry, even if
        # its metadata is too large: docs/kafka/differences.md#groups
        refused = [line for line in lines if line.error]
        taken = _once(turn, [line for line in lines if not line.error] if refused else lines)
        # Kafka 3.9 refuses v0 as a whole with UNSUPPORTED_VERSION (35), even for unknown topics (P2-c15): docs/kafka/differences.md#groups
        if request.version == 0 and taken:
            answers = [(line, error_codes.UNSUPPORTED_VERSION) for line in lines]
            turn.reply(request.ticket, OffsetCommitResponse(topics=_rows(grouped(answers, merge=False))))
            return
        heads = heads_of(topics, message.topics, by_id, denied, lines)
        prepared = yield from commits.prepare(turn, message.group_id, (_wanted(request.version, message, line) for line in taken))
        yield from turn.others_first(message.group_id)
        if topics.deleted == deleted or lines_of(topics, message.topics, by_id, denied) == lines:
            break  # If a topic of the request was deleted between two steps, the loop starts again, because nothing was stored yet.
    # If no partition passed, the coordinator is not asked, so an error of the group does not show (docs/kafka/offsets.md#c-empty-topics).
    errors = _commit(cluster, turn, request, message, prepared) if taken else []
    yield
    answers = [(line, line.error) for line in refused]
    answers += zip(taken, errors, strict=True)
    turn.reply(request.ticket, _answer(turn, heads, answers))


def _once(turn: Turn, lines: list[Line]) -> list[Line]:
    """Return only the last entry of each partition, in the order of hash maps, because Kafka 3.9 commits and answers only that entry."""
    if not turn.quirks.duplicates_answered_once:
        return lines
    # If a partition is listed twice, its last entry wins (P2-c13).
    found = {_key(line): line for line in lines}
    return [found[key] for key in scala_map_order(scala_table_order(found, id_partition_hash), id_partition_hash)]


def _commit(cluster: Cluster, turn: Turn, request: Request, message: OffsetCommitRequest, prepared: Prepared) -> list[int]:
    by = Committer(message.generation_id_or_member_epoch, message.member_id, message.group_instance_id)
    error, group = cluster.groups.reach(message.group_id, request.node)
    error = error or commits.admit(turn, group, by, request.version, prepared.places)
    if error:
        return [error] * len(prepared.errors)
    # The first commit creates the group, because a client that assigns partitions by hand never joins (CLIENT-21, SERVER-51).
    if group is None:
        group = cluster.groups.create_simple(turn, message.group_id, causes.first_commit(request.client_id))
    return commits.write(turn, group, prepared)


def _wanted(version: int, message: OffsetCommitRequest, line: Line) -> Commit:
    partition = line.partition
    return Commit(
        topic=line.name,
        partition=partition.partition_index,
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        # Null metadata is stored as "" and fetched as "" (docs/kafka/offsets.md#c-null-metadata).
        metadata=partition.committed_metadata or "",
        # Only OffsetCommit v1 has a commit timestamp, from which the retention counts (P2-c15); -1 means now.
        timestamp_ms=partition.commit_timestamp if version == 1 and partition.commit_timestamp != -1 else None,
        # OffsetCommit v5 dropped the retention (KIP-211): since then the group's state determines when an offset expires.
        retention_ms=message.retention_time_ms if 2 <= version <= 4 and message.retention_time_ms != -1 else None,
    )


def _answer(turn: Turn, heads: list[Head], answers: list[Result]) -> OffsetCommitResponse:
    """Return the OffsetCommit answer, with refused partitions first. The old coordinator answers the others once each, in the order of
    its hash maps."""
    # In Kafka 4.3 a refused partition changes the order and merges elements of the same topic, but OFFSET_METADATA_TOO_LARGE (12) does not
    # (P2-b2).
    merge = turn.quirks.duplicates_answered_once or bool(heads)
    return OffsetCommitResponse(topics=_rows(grouped(answers, merge, heads)))


def _key(line: Line) -> tuple[str, int]:
    return line.name, line.partition.partition_index


def _rows(groups: list[Rows]) -> list[OffsetCommitResponseTopic]:
    return [
        OffsetCommitResponseTopic(
            name=name,
            topic_id=topic_id,
            partitions=[OffsetCommitResponsePartition(partition_index=index, error_code=error) for index, error in partitions],
        )
        for name, topic_id, partitions in groups
    ]


def refused(request: Request, code: int, text: str) -> OffsetCommitResponse:
    message = request.message
    assert isinstance(message, OffsetCommitRequest)
    rows = [Rows(topic.name, topic.topic_id, [(each.partition_index, code) for each in topic.partitions]) for topic in message.topics]
    return OffsetCommitResponse(topics=_rows(rows))
