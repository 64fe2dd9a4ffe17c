"""CreateTopics (19) creates topics with their configs. v1 adds validate_only and error messages, v4 -1 for the broker's defaults, v5 the
configs of each new topic in the answer, and v7 its id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from groupmock_codec import error_codes
from groupmock_codec.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

from ..authorizer.acl import CLUSTER, CLUSTER_NAME, CREATE, DESCRIBE_CONFIGS, TOPIC
from ..budget import OverBudget, Ration, within
from ..java.hashes import java_hash
from ..java.orders import java_order
from ..log import assignments, configs
from ..log.config_keys import topic_keys
from ..log.described import TopicConfigs
from ..log.placement import CREATION_COST, MADE_COST, MOST_PARTITIONS, TOPIC_SIZE
from ..log.refusal import TopicRefused
from ..log.replicas import new_partitions
from ..work import AT_ONCE

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn
    from ..work import Steps

DEFAULT: Final = -1
CONFIGS_SINCE: Final = 5
METADATA_TOPIC: Final = "__cluster_metadata"
NAME_COST: Final = 3
CONFIG_COST: Final = 3
SHOWN_COST: Final = 40  # The configs in the answer about one created topic count as this much work.


class TopicPlan(NamedTuple):
    """A checked topic that may be created, with the replicas of each partition and its configs."""

    replicas: list[list[int]]
    settings: dict[str, str]


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Create or refuse each topic. Names that are listed twice are refused after the others."""
    asked = request.message
    assert isinstance(asked, CreateTopicsRequest)
    seen = Counter(topic.name for topic in asked.topics)
    denied = _uncreatable(cluster, request, turn, seen)
    wanted = [topic for topic in asked.topics if seen[topic.name] == 1 and topic.name not in denied]
    whole = _whole_refused(cluster, asked, wanted, turn)
    if whole is not None:
        turn.reply(request.ticket, CreateTopicsResponse(topics=[_refused(topic.name, whole) for topic in asked.topics]))
    else:
        twice = [name for name, times in seen.items() if times > 1]
        elements = len(wanted) * TOPIC_SIZE + partitions_of(cluster, wanted)
        turn.begin_on_topics(partial(_answered, cluster, request, wanted, twice, denied, asked.validate_only), elements)


def _uncreatable(cluster: Cluster, request: Request, turn: Turn, seen: Counter[str]) -> list[str]:
    """Return the names that the sender may not create, without those that are listed twice, in the order of Kafka's hash set."""
    if cluster.allows(request, CREATE, CLUSTER, CLUSTER_NAME):
        return []
    names = [name for name, times in seen.items() if times == 1 and name != METADATA_TOPIC]
    denied = cluster.denied(turn, request, CREATE, TOPIC, names)
    return [name for name in java_order(names, java_hash) if name in denied]


def _answered(
    cluster: Cluster,
    request: Request,
    wanted: list[CreatableTopic],
    twice: list[str],
    denied: list[str],
    validate_only: bool,
    turn: Turn,
) -> Steps:
    # The configs of a new topic are shown only to somebody who may describe them.
    shows = request.version >= CONFIGS_SINCE
    hidden = cluster.denied(turn, request, DESCRIBE_CONFIGS, TOPIC, (topic.name for topic in wanted)) if shows else ()
    shown = Shown(TopicConfigs(cluster.topics.broker_overrides(request.node), turn.settings))
    results = []
    for topic in wanted:
        result = yield from _result(cluster, shown, topic, validate_only, turn)
        if topic.name in hidden and not result.error_code:
            result.num_partitions = result.replication_factor = DEFAULT
            result.configs, result.topic_config_error_code = [], error_codes.TOPIC_AUTHORIZATION_FAILED
        results.append(result)
        yield
    often = TopicRefused(error_codes.INVALID_REQUEST, "Duplicate topic name.")
    results += [_refused(name, often) for name in twice]
    results += [_refused(name, TopicRefused(error_codes.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")) for name in denied]
    turn.reply(request.ticket, CreateTopicsResponse(topics=results))


def _whole_refused(cluster: Cluster, asked: CreateTopicsRequest, wanted: list[CreatableTopic], turn: Turn) -> TopicRefused | None:
    """Return the error with which the controller refuses all topics of the request, or None."""
    # If every name is listed twice the error is not REQUEST_TIMED_OUT (7), because the controller reports errors of the request itself
    # first: docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    if wanted and asked.timeout_ms < 0:
        return TopicRefused(error_codes.REQUEST_TIMED_OUT, "")
    # Kafka adds the numbers in an int, which overflows, so that two topics with 2^31-1 partitions each would pass
    # (docs/kafka/differences.md#work-and-answers).
    if partitions_of(cluster, wanted) > MOST_PARTITIONS:
        return TopicRefused(error_codes.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    return _too_much(cluster, asked, wanted, turn)


def partitions_of(cluster: Cluster, wanted: Iterable[CreatableTopic]) -> int:
    """Return the number of partitions that these topics would have in total. An impossible number counts as 0, because it is refused for
    each topic."""
    standard = cluster.environment.settings.num_partitions
    return sum(
        max(len(topic.assignments) or (standard if topic.num_partitions == DEFAULT else topic.num_partitions), 0) for topic in wanted
    )


def _too_much(cluster: Cluster, asked: CreateTopicsRequest, wanted: list[CreatableTopic], turn: Turn) -> TopicRefused | None:
    """Return POLICY_VIOLATION (44) if creating or only validating these topics would exceed the work limit of one request, else None.
    Raises OverBudget for a request that is too much to be answered at all."""
    ration = Ration(turn.settings)
    ration.take_names([topic.name for topic in asked.topics], NAME_COST)
    ration.take(within([topic.configs for topic in asked.topics]), CONFIG_COST)
    ration.take(sum([len(each.broker_ids) for topic in asked.topics for each in topic.assignments]))
    fresh = [topic for topic in wanted if topic.name not in cluster.topics]
    partitions = partitions_of(cluster, fresh)
    try:
        ration.take(len(fresh), CREATION_COST + SHOWN_COST)
        ration.take(partitions, MADE_COST)
        cluster.topics.check_room(partitions)
    except OverBudget as refusal:
        return TopicRefused(error_codes.POLICY_VIOLATION, str(refusal))
    except TopicRefused as refusal:
        return refusal
    return None


class Shown:
    """Builds the configs that the answer shows for each topic. Topics with equal configs share a list, which is made and encoded once."""

    def __init__(self, described: TopicConfigs) -> None:
        self._described = described
        self._lists: dict[tuple[tuple[str, str], ...], list[CreatableTopicConfigs]] = {}

    def of(self, settings: dict[str, str]) -> list[CreatableTopicConfigs]:
        """Return all configs of a topic on which `settings` are set and whose other configs have defaults."""
        key = tuple(settings.items())
        known = self._lists.get(key)
        if known is None:
            # CreateTopics answers a config as the client wrote it, but DescribeConfigs as Kafka parsed it:
            # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
            known = self._lists[key] = [
                CreatableTopicConfigs(
                    name=each.name,
                    value=settings.get(each.name, each.value),
                    read_only=False,
                    config_source=each.source,
                    is_sensitive=False,
                )
                for each in self._described.of(settings)
            ]
        return known


def _result(
    cluster: Cluster, shown: Shown, wanted: CreatableTopic, validate_only: bool, turn: Turn
) -> Generator[None, None, CreatableTopicResult]:
    topics = cluster.topics
    try:
        plan = yield from _plan(cluster, wanted)
        if validate_only:
            topic_id = cluster.environment.dice.uuid_bytes()  # Kafka's controller draws a topic id even if the topic is only validated.
        else:
            partitions = yield from new_partitions(turn.environment, plan.replicas)
            topics.check_name(wanted.name)  # The name is checked again, because a Metadata may have created the topic between two steps.
            topics.check_room(len(partitions))
            topic_id = topics.add_made(turn, wanted.name, partitions, plan.settings).topic_id
    except TopicRefused as trouble:
        return _refused(wanted.name, trouble)
    return CreatableTopicResult(
        name=wanted.name,
        topic_id=topic_id,
        error_message=None,
        num_partitions=len(plan.replicas),
        replication_factor=len(plan.replicas[0]),
        configs=shown.of(plan.settings),
    )


def _plan(cluster: Cluster, wanted: CreatableTopic) -> Generator[None, None, TopicPlan]:
    """Check a topic in the order of Kafka's controller: its name, its configs, and then its numbers or assignments."""
    cluster.topics.check_name(wanted.name)
    nulls = [config.name for config in wanted.configs if config.value is None]
    # Null values are refused before unknown names, and unknown names before bad values:
    # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    if nulls:
        raise TopicRefused(error_codes.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}")
    try:
        given = {config.name: config.value for config in wanted.configs}
        settings = configs.check_all(given, topic_keys(cluster.environment.settings.quirks))
    except configs.BadConfig as bad:
        raise TopicRefused(error_codes.INVALID_CONFIG, str(bad)) from None
    replicas = yield from (_assigned(cluster, wanted) if wanted.assignments else _placed(cluster, wanted))
    return TopicPlan(replicas, settings)


def _placed(cluster: Cluster, wanted: CreatableTopic) -> Generator[None, None, list[list[int]]]:
    """Choose the replicas of each partition for a topic without manual assignments. Raises TopicRefused."""
    settings = cluster.environment.settings
    partitions = settings.num_partitions if wanted.num_partitions == DEFAULT else wanted.num_partitions
    factor = settings.default_replication_factor if wanted.replication_factor == DEFAULT else wanted.replication_factor
    return cluster.topics.place(wanted.name, partitions, factor)


def _check_numbers_and_assignments(wanted: CreatableTopic) -> None:
    """Raise TopicRefused if a topic has both numbers and manual assignments."""
    if not wanted.assignments:
        return
    for number, what in ((wanted.replication_factor, "replication factor"), (wanted.num_partitions, "numPartitions")):
        if number != DEFAULT:
            raise TopicRefused(error_codes.INVALID_REQUEST, f"A manual partition assignment was specified, but {what} was not set to -1.")


def _assigned(cluster: Cluster, wanted: CreatableTopic) -> Generator[None, None, list[list[int]]]:
    _check_numbers_and_assignments(wanted)
    by_index: dict[int, list[int]] = {}
    nodes, factor = {node.node_id for node in cluster.environment.identity.nodes}, None
    for assignment in wanted.assignments:
        index = assignment.partition_index
        if index in by_index:
            message = f"Found multiple manual partition assignments for partition {index}"
            raise TopicRefused(error_codes.INVALID_REPLICA_ASSIGNMENT, message)
        by_index[index] = list(assignment.broker_ids)
        # The replication factor is checked inside the loop, as in ReplicationControlManager.createTopic, so that a bad assignment is
        # reported before a later duplicate.
        factor = assignments.check([by_index[index]], nodes, factor)
        if not len(by_index) % AT_ONCE:
            yield
    if sorted(by_index) != list(range(len(by_index))):
        raise TopicRefused(error_codes.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence")
    return [by_index[index] for index in sorted(by_index)]


def _refused(name: str, why: TopicRefused) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=why.code, error_message=why.message or None, configs=[])
