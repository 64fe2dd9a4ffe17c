"""OffsetFetch (9) returns committed offsets, of one group up to v7 and of several groups since v8 (docs/kafka/offsets.md#offsetfetch).
Classic groups do not check membership; in a consumer group a member must send its id and epoch (KIP-848). With `require_stable` (v7,
KIP-447) a partition with a pending offset of an open transaction is answered UNSTABLE_OFFSET_COMMIT (88)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from groupmock_codec import error_codes
from groupmock_codec.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

from ..authorizer.acl import DESCRIBE, GROUP, TOPIC
from ..budget import Ration, within
from ..groups.offsets.commits import NO_OFFSET
from ..groups.offsets.committed import At, CommittedOffsets, Offset
from ..java.hashes import java_hash, partition_hash
from ..java.orders import java_order, scala_map_order

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

GROUP_COST: Final = 10
TOPIC_COST: Final = 4
PARTITION_COST: Final = 3
MEMBER_EPOCH_SINCE: Final = 9
"""The first version in which a member of a consumer group sends its member id and epoch (KIP-848)."""


class FoundOffsets(NamedTuple):
    """The offset or the error of one partition in an OffsetFetch answer."""

    partition: int
    offset: Offset
    error: int = error_codes.NONE


Wanted = list[tuple[str, list[int]]]
Topic = tuple[str, list[FoundOffsets]]


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Return committed offsets, which are -1 without an error for unknown groups and partitions."""
    message = request.message
    assert isinstance(message, OffsetFetchRequest)
    ration = _price(cluster, turn, message)
    if request.version < 8:
        answer = _one_group(cluster, turn, request, message)
        ration.take(0, size=sum([len(each.metadata or "") for topic in answer.topics for each in topic.partitions]))
        turn.reply(request.ticket, answer)
    elif not message.groups and turn.quirks.fetch_without_groups_hangs:
        # Kafka 3.9 never answers an OffsetFetch without groups, and its connection stays open (P2-c5).
        turn.abandon(request.ticket, "an OffsetFetch without groups is never answered by this release")
    else:
        # A group id that is listed twice is answered twice (docs/kafka/offsets.md#offsetfetch).
        groups = [_group(cluster, turn, request, wanted, message.require_stable) for wanted in message.groups]
        ration.take(0, size=sum([len(each.metadata or "") for group in groups for topic in group.topics for each in topic.partitions]))
        turn.reply(request.ticket, OffsetFetchResponse(groups=groups))


def _price(cluster: Cluster, turn: Turn, message: OffsetFetchRequest) -> Ration:
    """Count all groups, topics and partitions that the request names against the work limit of the request, and return the rest of that
    limit, which metadata may use."""
    ration = Ration(turn.settings)
    _take(ration, cluster, message.group_id, message.topics)
    for wanted in message.groups:
        _take(ration, cluster, wanted.group_id, wanted.topics)
    return ration


def _take(
    ration: Ration, cluster: Cluster, group_id: str, topics: Sequence[OffsetFetchRequestTopic | OffsetFetchRequestTopics] | None
) -> None:
    ration.take_names([group_id], GROUP_COST)
    group = cluster.groups.find(group_id)
    if topics is None:
        ration.take(0 if group is None else len(group.offsets), PARTITION_COST)
    else:
        ration.take_names([topic.name for topic in topics], TOPIC_COST)
        ration.take(within([topic.partition_indexes for topic in topics]), PARTITION_COST)


def _one_group(cluster: Cluster, turn: Turn, request: Request, message: OffsetFetchRequest) -> OffsetFetchResponse:
    wanted = None if message.topics is None else [(topic.name, topic.partition_indexes) for topic in message.topics]
    denied = bool(cluster.denied(turn, request, DESCRIBE, GROUP, (message.group_id,)))
    if denied and request.version == 0:
        return _answer(_everywhere(_in_java_order(wanted or []), error_codes.GROUP_AUTHORIZATION_FAILED))
    error = error_codes.GROUP_AUTHORIZATION_FAILED if denied else cluster.groups.gate(message.group_id, request.node)
    # OffsetFetch v0 is answered before the coordinator is checked, because it reads offsets that are not stored in a coordinator (P2-c22).
    if request.version == 0:
        return _answer(_everywhere(_in_java_order(wanted or []), error_codes.UNSUPPORTED_VERSION))
    if not error:
        return _answer(_fetch(cluster, turn, request, message.group_id, wanted, message.require_stable))
    # OffsetFetch v1 has no top-level error, so each partition has the error code, and in Kafka 3.9 the answer has no partitions (P2-c4).
    if request.version >= 2:
        return OffsetFetchResponse(error_code=error)
    return _answer([] if turn.quirks.fetch_v1_hides_group_errors else _everywhere(wanted or [], error))


def _answer(topics: Iterable[Topic]) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        topics=[OffsetFetchResponseTopic(name=name, partitions=[_old(one) for one in found]) for name, found in topics]
    )


def _old(found: FoundOffsets) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        partition_index=found.partition,
        committed_offset=found.offset.offset,
        committed_leader_epoch=found.offset.leader_epoch,
        metadata=found.offset.metadata,
        error_code=found.error,
    )


def _in_java_order(wanted: Wanted) -> Wanted:
    """Return each partition once, in the order of Java's hash maps, in which Kafka answers an error of the whole request."""
    topics: dict[str, list[int]] = {}
    for name, index in java_order(((name, index) for name, indexes in wanted for index in indexes), partition_hash):
        topics.setdefault(name, []).append(index)
    return [(name, topics[name]) for name in java_order(topics, java_hash)]


def _everywhere(wanted: Wanted, error: int) -> list[Topic]:
    return [(name, [FoundOffsets(index, NO_OFFSET, error) for index in indexes]) for name, indexes in wanted]


def _fetch(cluster: Cluster, turn: Turn, request: Request, group_id: str, wanted: Wanted | None, stable: bool) -> Iterable[Topic]:
    """Return the offsets of the listed partitions, or of all partitions with an offset whose topics the sender may describe. `stable`: 88
    where a commit is pending in a transaction (KIP-447)."""
    group = cluster.groups.find(group_id)
    offsets = CommittedOffsets() if group is None else group.offsets
    unstable = offsets.unstable if stable else frozenset()
    if wanted is None:
        return [topic for topic in _all(turn, offsets, unstable) if cluster.allows(request, DESCRIBE, TOPIC, topic[0])]
    denied = cluster.denied(turn, request, DESCRIBE, TOPIC, (name for name, _ in wanted))
    unauthorized = [topic for topic in wanted if topic[0] in denied]
    wanted = [topic for topic in wanted if topic[0] not in denied] if denied else wanted
    if turn.quirks.duplicates_answered_once:
        wanted = _once(wanted)
    found = [(name, [_found(offsets, name, index, unstable) for index in indexes]) for name, indexes in wanted]
    return found + _everywhere(unauthorized, error_codes.TOPIC_AUTHORIZATION_FAILED)


def _found(offsets: CommittedOffsets, name: str, index: int, unstable: frozenset[At]) -> FoundOffsets:
    if (name, index) in unstable:
        return FoundOffsets(index, NO_OFFSET, error_codes.UNSTABLE_OFFSET_COMMIT)
    return FoundOffsets(index, offsets.get((name, index), NO_OFFSET))


def _all(turn: Turn, offsets: CommittedOffsets, unstable: frozenset[At]) -> list[Topic]:
    topics: dict[str, list[FoundOffsets]] = {}
    # Kafka 4.3 lists all offsets in the order of its TimelineHashMap tables, and Kafka 3.9 in the order of Scala's maps:
    # docs/kafka/differences.md#groups
    for name, index in offsets.listed(turn.quirks.duplicates_answered_once):
        topics.setdefault(name, []).append(_found(offsets, name, index, unstable))
    return list(topics.items())


def _once(wanted: Wanted) -> Wanted:
    """Return each partition once, in the order of Kafka 3.9's map."""
    topics: dict[str, list[int]] = {}
    # In OffsetFetch, Kafka 3.9 answers a partition once, but Kafka 4.3 as often as it was listed (P2-c13).
    for name, index in scala_map_order(((name, index) for name, indexes in wanted for index in indexes), partition_hash):
        topics.setdefault(name, []).append(index)
    return list(topics.items())


def _group(cluster: Cluster, turn: Turn, request: Request, wanted: OffsetFetchRequestGroup, stable: bool) -> OffsetFetchResponseGroup:
    if cluster.denied(turn, request, DESCRIBE, GROUP, (wanted.group_id,)):
        return OffsetFetchResponseGroup(group_id=wanted.group_id, error_code=error_codes.GROUP_AUTHORIZATION_FAILED)
    error, group = cluster.groups.reach(wanted.group_id, request.node)
    if group is not None and request.version >= MEMBER_EPOCH_SINCE:
        error = group.admit_fetch(wanted.member_id, wanted.member_epoch)
    if error:
        return OffsetFetchResponseGroup(group_id=wanted.group_id, error_code=error)
    read = _topics_by_id if request.version >= 10 else _topics_by_name
    topics = list(read(cluster, turn, request, wanted, stable))
    return OffsetFetchResponseGroup(group_id=wanted.group_id, topics=topics)


def _topics_by_name(
    cluster: Cluster, turn: Turn, request: Request, wanted: OffsetFetchRequestGroup, stable: bool
) -> Iterator[OffsetFetchResponseTopics]:
    listed = None if wanted.topics is None else [(topic.name, topic.partition_indexes) for topic in wanted.topics]
    for name, found in _fetch(cluster, turn, request, wanted.group_id, listed, stable):
        yield OffsetFetchResponseTopics(name=name, partitions=[_new(one) for one in found])


def _topics_by_id(
    cluster: Cluster, turn: Turn, request: Request, wanted: OffsetFetchRequestGroup, stable: bool
) -> Iterator[OffsetFetchResponseTopics]:
    """Yield the topics with known ids in request order, followed by those with unknown ids, whose partitions get UNKNOWN_TOPIC_ID (100),
    and those that the sender may not describe."""
    topics = cluster.topics
    listed: Wanted | None = None
    unknown: list[tuple[OffsetFetchRequestTopics, int]] = []
    if wanted.topics is not None:
        listed = []
        names = [topics.name_of(topic.topic_id) for topic in wanted.topics]
        denied = cluster.denied(turn, request, DESCRIBE, TOPIC, [name for name in names if name is not None])
        for topic, name in zip(wanted.topics, names, strict=True):
            if name is None:
                unknown.append((topic, error_codes.UNKNOWN_TOPIC_ID))
            elif name in denied:
                unknown.append((topic, error_codes.TOPIC_AUTHORIZATION_FAILED))
            else:
                listed.append((name, topic.partition_indexes))
    for name, found in _fetch(cluster, turn, request, wanted.group_id, listed, stable):
        topic_id = topics.topic_id(name)
        if topic_id is not None:
            yield OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=[_new(one) for one in found])
    for topic, code in unknown:
        refused = [_new(FoundOffsets(index, NO_OFFSET, code)) for index in topic.partition_indexes]
        yield OffsetFetchResponseTopics(topic_id=topic.topic_id, partitions=refused)


def _new(found: FoundOffsets) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=found.partition,
        committed_offset=found.offset.offset,
        committed_leader_epoch=found.offset.leader_epoch,
        metadata=found.offset.metadata,
        error_code=found.error,
    )
