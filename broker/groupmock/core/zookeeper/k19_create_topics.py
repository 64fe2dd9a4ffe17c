"""CreateTopics (19) as Kafka 2.8 has it: by the controller's node, a row for each topic as asked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse

from ..apis.k19_create_topics import TopicPlan, check_numbers_and_assignments, done, placed, refused, too_much
from ..log import assignments, configs
from ..log.config_keys import topic_keys
from ..log.described import TopicConfigs
from ..log.refusal import TopicRefused
from . import admin_manager

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Make each topic or say why not. Without time to wait the answer is 7, and the topic is made all the same."""
    asked = request.message
    assert isinstance(asked, CreateTopicsRequest)
    # Forwarding to the controller came with KIP-590: here a 41 makes the client look for the controller and go there.
    if turn.quirks.controller_only and request.node != cluster.topics.controller():
        elsewhere = TopicRefused(ErrorCode.NOT_CONTROLLER, "")
        turn.reply(request.ticket, CreateTopicsResponse(topics=[refused(topic.name, elsewhere) for topic in asked.topics]))
        return
    seen = Counter(topic.name for topic in asked.topics)
    excess = too_much(cluster, asked, [topic for topic in asked.topics if seen[topic.name] == 1], turn)
    often = TopicRefused(ErrorCode.INVALID_REQUEST, "Found multiple entries for this topic.")
    shown = TopicConfigs(cluster.topics.broker_overrides(request.node), turn.settings)
    rows = [
        refused(topic.name, often) if seen[topic.name] > 1 else _result(cluster, shown, topic, excess, asked.validate_only, turn)
        for topic in asked.topics
    ]
    # The 7 is only about waiting: docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    if asked.timeout_ms <= 0 and not asked.validate_only:
        rows = [row if row.error_code else _unawaited(row) for row in rows]
    turn.reply(request.ticket, CreateTopicsResponse(topics=rows))


def _result(
    cluster: Cluster, shown: TopicConfigs, wanted: CreatableTopic, excess: TopicRefused | None, validate_only: bool, turn: Turn
) -> CreatableTopicResult:
    try:
        if excess is not None:  # what is wrong with the topic alone is said first, and one partition is enough to see it
            _plan(cluster, msgspec.structs.replace(wanted, num_partitions=min(wanted.num_partitions, 1)))
            raise excess
        plan = _plan(cluster, wanted)
        # 2.8 makes such a topic; the difference is recorded: docs/proof/fidelity.md#recorded-differences (partitions-without-leader)
        if not validate_only:  # it would make partitions that nobody can lead
            assignments.check(plan.replicas, {node.node_id for node in cluster.environment.identity.nodes}, None)
    except TopicRefused as trouble:
        return refused(wanted.name, trouble)
    return done(cluster, shown, wanted.name, plan, {}, validate_only, turn)


def _plan(cluster: Cluster, wanted: CreatableTopic) -> TopicPlan:
    """Checks in the order of the admin manager: numbers, name, then assignments and configs."""
    nulls = [config.name for config in wanted.configs if config.value is None]
    # AdminManager.createTopics looks for the topic first of all (36); what else is wrong with a name is said after the numbers.
    if wanted.name in cluster.topics:
        cluster.topics.check_name(wanted.name)
    if nulls:
        raise TopicRefused(ErrorCode.INVALID_REQUEST, f"Null value not supported for topic configs : {','.join(nulls)}")
    check_numbers_and_assignments(wanted)
    replicas = None if wanted.assignments else placed(cluster, wanted)
    cluster.topics.check_name(wanted.name)
    if replicas is None:
        replicas = admin_manager.replicas([(each.partition_index, each.broker_ids) for each in wanted.assignments])
    try:
        given = {config.name: config.value for config in wanted.configs}
        return TopicPlan(replicas, configs.check_all(given, topic_keys(cluster.environment.settings.quirks)))
    except configs.BadConfig as bad:
        raise TopicRefused(ErrorCode.INVALID_CONFIG, str(bad)) from None


def _unawaited(made: CreatableTopicResult) -> CreatableTopicResult:
    """Kafka 2.8's answer when there is no time to wait for what was made."""
    return CreatableTopicResult(
        name=made.name, topic_id=made.topic_id, error_code=ErrorCode.REQUEST_TIMED_OUT, error_message=None, configs=[]
    )
