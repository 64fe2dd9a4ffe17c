"""CreatePartitions (37) raises the number of partitions of a topic (KIP-195), with replicas chosen by the broker or the client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k37_create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

from ..authorizer.acl import ALTER, TOPIC
from ..budget import OverBudget, Ration
from ..effects import Reply
from ..java.hashes import java_hash
from ..java.orders import java_order
from ..log import assignments
from ..log.placement import MADE_COST, MOST_PARTITIONS, TOPIC_SIZE
from ..log.refusal import TopicRefused
from ..log.replicas import new_partitions
from ..log.topics import Topic

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn
    from ..work import Steps

TOPIC_COST: Final = 6


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Add the partitions to each topic, or refuse the topic. Topics that are listed twice are refused first."""
    asked = request.message
    assert isinstance(asked, CreatePartitionsRequest)
    seen = Counter(topic.name for topic in asked.topics)
    denied = cluster.denied(turn, request, ALTER, TOPIC, (name for name, times in seen.items() if times == 1))
    # If every name is listed twice the error is not REQUEST_TIMED_OUT (7), because the controller reports errors of the request itself
    # first: docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    if asked.timeout_ms < 0 and any(times == 1 and name not in denied for name, times in seen.items()):
        late = [CreatePartitionsTopicResult(name=topic.name, error_code=error_codes.REQUEST_TIMED_OUT) for topic in asked.topics]
        turn.reply(request.ticket, CreatePartitionsResponse(results=late))
        return
    by_name = {topic.name: topic for topic in asked.topics}
    # The topics are in hash order, because Kafka iterates over a set of their names.
    wanted = [by_name[name] for name in java_order(seen, java_hash) if seen[name] == 1 and name not in denied]
    often = TopicRefused(error_codes.INVALID_REQUEST, "Duplicate topic name.")
    results = [_refused(name, often) for name in java_order((name for name, times in seen.items() if times > 1), java_hash)]
    unauthorized = TopicRefused(error_codes.TOPIC_AUTHORIZATION_FAILED, "")
    results += [_refused(name, unauthorized) for name in java_order(seen, java_hash) if name in denied]
    added = sum([max(topic.count - (cluster.topics.partitions(topic.name) or topic.count), 0) for topic in wanted])
    excess = _excess(cluster, wanted, added, turn)
    elements = len(wanted) * TOPIC_SIZE + (added if excess is None else 0)
    turn.begin_on_topics(partial(_answered, cluster, request, asked, wanted, excess, results), elements)


def _answered(
    cluster: Cluster,
    request: Request,
    asked: CreatePartitionsRequest,
    wanted: list[CreatePartitionsTopic],
    excess: TopicRefused | None,
    results: list[CreatePartitionsTopicResult],
    turn: Turn,
) -> Steps:
    """Add partitions to the topics in `wanted`, and answer all rows. `results`: the refusals there are already."""
    # The answer is later inserted at this place in the effects, because the effects of the last new partitions must come after it.
    place = len(turn.out)
    for topic in wanted:
        yield
        result = yield from _grow(cluster, topic, asked.validate_only, turn, excess)
        results.append(result)
    turn.out.insert(place, Reply(request.ticket, CreatePartitionsResponse(results=results)))


def _excess(cluster: Cluster, wanted: list[CreatePartitionsTopic], added: int, turn: Turn) -> TopicRefused | None:
    """Return the error if adding these partitions, or only validating them, would exceed the work limit of one request. Kafka places
    them before it counts them, however many. The limit and the code (44) are those of CreateTopics. Raises OverBudget for a request that
    is too much to be answered at all."""
    ration = Ration(turn.settings)
    ration.take_names([topic.name for topic in wanted], TOPIC_COST)
    ration.take(sum([len(each.broker_ids) for topic in wanted for each in topic.assignments or ()]))
    if added > MOST_PARTITIONS:
        return TopicRefused(error_codes.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    try:
        ration.take(added, MADE_COST)
        cluster.topics.check_room(added)
    except OverBudget as refusal:
        return TopicRefused(error_codes.POLICY_VIOLATION, str(refusal))
    except TopicRefused as refusal:
        return refusal
    return None


def _grow(
    cluster: Cluster, wanted: CreatePartitionsTopic, validate_only: bool, turn: Turn, excess: TopicRefused | None
) -> Generator[None, None, CreatePartitionsTopicResult]:
    topic = cluster.topics.get(wanted.name)
    if topic is None:
        return CreatePartitionsTopicResult(name=wanted.name, error_code=error_codes.UNKNOWN_TOPIC_OR_PARTITION, error_message=None)
    try:
        replicas = yield from _replicas(cluster, topic, wanted, excess)
    except TopicRefused as refused:
        return _refused(wanted.name, refused)
    if not validate_only:
        partitions = yield from new_partitions(turn.environment, replicas, len(topic.partitions))
        cluster.topics.extend(turn, topic, partitions)
    return CreatePartitionsTopicResult(name=wanted.name)


def _replicas(
    cluster: Cluster, topic: Topic, wanted: CreatePartitionsTopic, excess: TopicRefused | None
) -> Generator[None, None, list[list[int]]]:
    before = len(topic.partitions)
    if wanted.count == before:
        raise TopicRefused(error_codes.INVALID_PARTITIONS, f"Topic already has {before} partition(s).")
    if wanted.count < before:
        raise TopicRefused(
            error_codes.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {before} partition(s); {wanted.count} would not be an increase.",
        )
    # Errors of the topic itself are reported before too large a number of partitions.
    if excess is not None and (wanted.assignments is None or len(wanted.assignments) == wanted.count - before):
        raise excess
    if wanted.assignments is None:
        return (yield from cluster.topics.replicas(topic.name, range(before, wanted.count), topic.replication_factor))
    if len(wanted.assignments) != wanted.count - before:
        raise TopicRefused(
            error_codes.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {wanted.count - before} additional partition(s), "
            f"but only {len(wanted.assignments)} assignment(s) were specified.",
        )
    chosen = [list(assignment.broker_ids) for assignment in wanted.assignments]
    assignments.check(chosen, {node.node_id for node in cluster.environment.identity.nodes}, topic.replication_factor)
    return chosen


def _refused(name: str, refused: TopicRefused) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(name=name, error_code=refused.code, error_message=refused.message or None)
