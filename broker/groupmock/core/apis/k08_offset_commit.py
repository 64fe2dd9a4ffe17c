"""OffsetCommit (8) stores offsets of a group (docs/kafka/offsets.md#offsetcommit; order of the answer: P2-b2)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from groupmock_codec import error_codes
from groupmock_codec.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

from ..budget import Ration, within
from ..groups import causes
from ..groups.offsets import commits
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


class Line(NamedTuple):
    """One partition of an OffsetCommit request. `entry` numbers the topic elements; `error` is that of the topic gates
    (docs/kafka/apis.md#gates-in-front-of-the-coordinator, 3 and 4)."""

    entry: int
    name: str
    topic_id: bytes
    partition: OffsetCommitRequestPartition
    error: int


class Head(NamedTuple):
    """A topic element of an OffsetCommit request."""

    entry: int
    name: str
    topic_id: bytes


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
    topics = cluster.topics
    while True:
        lines, deleted = _lines(cluster, request.version, message), topics.deleted
        # The topics are checked before anything is stored. If a partition is listed twice, Kafka 3.9 only considers the last entry, even if
        # its metadata is too large: docs/kafka/differences.md#groups
        refused = [line for line in lines if line.error]
        taken = _once(turn, [line for line in lines if not line.error] if refused else lines)
        # Kafka 3.9 refuses v0 as a whole with UNSUPPORTED_VERSION (35), even for unknown topics (P2-c15): docs/kafka/differences.md#groups
        if request.version == 0 and taken:
            answers = [(line, error_codes.UNSUPPORTED_VERSION) for line in lines]
            turn.reply(request.ticket, OffsetCommitResponse(topics=_grouped(answers, merge=False)))
            return
        heads = _heads(cluster, request.version, message, lines)
        prepared = yield from commits.prepare(turn, message.group_id, (_wanted(request.version, message, line) for line in taken))
        yield from turn.others_first(message.group_id)
        if topics.deleted == deleted or _lines(cluster, request.version, message) == lines:
            break  # If a topic of the request was deleted between two steps, the loop starts again, because nothing was stored yet.
    # If no partition passed, the coordinator is not asked, so an error of the group does not show (docs/kafka/offsets.md#c-empty-topics).
    errors = _commit(cluster, turn, request, message, prepared) if taken else []
    yield
    answers = [(line, line.error) for line in refused]
    answers += zip(taken, errors, strict=True)
    turn.reply(request.ticket, _answer(turn, heads, answers))


def _heads(cluster: Cluster, version: int, message: OffsetCommitRequest, lines: list[Line]) -> list[Head]:
    """Return the topic elements with a refused partition. An unknown topic counts even without partitions, because Kafka names it in the
    answer."""
    spoilt = {line.entry for line in lines if line.error}
    heads: list[Head] = []
    for entry, topic in enumerate(message.topics):
        if topic.partitions and entry not in spoilt:
            continue
        name = topic.name if version < 10 else cluster.topics.name_of(topic.topic_id) or ""
        if entry in spoilt or not name or cluster.topics.partitions(name) is None:
            heads.append(Head(entry, name, topic.topic_id))
    return heads


def _lines(cluster: Cluster, version: int, message: OffsetCommitRequest) -> list[Line]:
    """Return each partition of the request with its topic error: UNKNOWN_TOPIC_OR_PARTITION (3), UNKNOWN_TOPIC_ID (100) or none."""
    lines = []
    for entry, topic in enumerate(message.topics):
        name, topic_id, unknown = topic.name, topic.topic_id, error_codes.UNKNOWN_TOPIC_OR_PARTITION
        if version >= 10:
            name, unknown = cluster.topics.name_of(topic_id) or "", error_codes.UNKNOWN_TOPIC_ID
        count = cluster.topics.partitions(name) if name else None
        for partition in topic.partitions:
            if count is None:
                error = unknown
            else:
                error = error_codes.NONE if 0 <= partition.partition_index < count else error_codes.UNKNOWN_TOPIC_OR_PARTITION
            lines.append(Line(entry, name, topic_id, partition, error))
    return lines


def _once(turn: Turn, lines: list[Line]) -> list[Line]:
    """Return each partition once, because Kafka 3.9 commits and answers only the last entry, in the order of its hash maps."""
    if not turn.quirks.duplicates_answered_once:
        return lines
    # The last entry of a partition wins (P2-c13).
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
        # Only v1 has a commit timestamp, from which the retention counts (P2-c15); -1 means now.
        timestamp_ms=partition.commit_timestamp if version == 1 and partition.commit_timestamp != -1 else None,
        # v5 dropped this field (KIP-211): since then the group's state determines when an offset expires.
        retention_ms=message.retention_time_ms if 2 <= version <= 4 and message.retention_time_ms != -1 else None,
    )


Result = tuple[Line, int]


def _answer(turn: Turn, heads: list[Head], answers: list[Result]) -> OffsetCommitResponse:
    """Return the OffsetCommit answer, with refused partitions first. The old coordinator answers the others once each, in the order of
    its hash maps."""
    # In Kafka 4.3 a refused partition changes the order and merges elements of the same topic, but OFFSET_METADATA_TOO_LARGE (12) does not
    # (P2-b2).
    merge = turn.quirks.duplicates_answered_once or bool(heads)
    return OffsetCommitResponse(topics=_grouped(answers, merge, heads))


def _key(line: Line) -> tuple[str, int]:
    return line.name, line.partition.partition_index


def _grouped(results: list[Result], merge: bool, heads: Iterable[Head] = ()) -> list[OffsetCommitResponseTopic]:
    """Return the rows of `heads`, followed by the other topics in order of first appearance. `merge` joins the elements of one topic, as
    when something was refused."""
    topics: dict[object, OffsetCommitResponseTopic] = {}

    def row(one: Head | Line) -> OffsetCommitResponseTopic:
        # Unknown topic ids all have the name "", which would merge them into one topic.
        key: object = (one.name or one.topic_id) if merge else one.entry
        return topics.setdefault(key, OffsetCommitResponseTopic(name=one.name, topic_id=one.topic_id, partitions=[]))

    for head in heads:
        row(head)
    for line, error in results:
        topic = row(line)
        topic.partitions.append(OffsetCommitResponsePartition(partition_index=line.partition.partition_index, error_code=error))
    return list(topics.values())
