"""AlterConfigs (33) replaces all configs of a resource. Configs that the request does not list return to their defaults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k33_alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

from ..authorizer import acl
from ..authorizer.acl import ALTER_CONFIGS, CLUSTER, CLUSTER_NAME, DENIED, DENIED_TEXT
from ..budget import Ration, within
from ..groups.configs import GROUP
from ..log.altering import BROKER, TOPIC, alter, check_changes
from ..log.altering_brokers import check_broker_name
from ..log.change import SET, Alteration, Change
from ..log.refusal import TopicRefused

if TYPE_CHECKING:
    from groupmock_codec.messages.k44_incremental_alter_configs import AlterConfigsResource as Incremental

    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn
    from ..work import Steps

RESOURCE_COST: Final = 12
CHANGE_COST: Final = 4
BROKER_COST: Final = 2000  # This amount of work covers the change of one broker config, which is validated together with all others.
GROUP_COST: Final = 60  # This amount of work covers the change of one group config, which is validated together with related configs.
RESOURCE_SIZE: Final = 16
"""The work of changing one resource, measured in ordinary elements of a request."""
RIGHT_OF_KIND: Final = {2: acl.TOPIC, 4: CLUSTER, 8: CLUSTER, 16: CLUSTER, 32: acl.GROUP}
"""The resource type of the right for each type of config resource: topics, brokers, brokers' loggers, client metrics, groups."""
TWICE: Final = "Each resource must appear at most once."


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Change each resource on its own and answer a row for each. A resource listed twice makes Kafka's handler die without an answer;
    otherwise it is refused as in 44."""
    asked = request.message
    assert isinstance(asked, AlterConfigsRequest)
    check_price(cluster, request.node, asked.resources, turn)
    # Kafka 4.3's handler throws on a resource that is listed twice, and Kafka 3.9 answers INVALID_REQUEST (42):
    # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    different = {(resource.resource_type, resource.resource_name) for resource in asked.resources}
    if turn.quirks.repeated_alteration_unanswered and len(different) < len(asked.resources):
        turn.abandon(request.ticket, "AlterConfigs names a resource twice")
        return
    turn.begin_on_topics(partial(_answered, cluster, request, asked), len(asked.resources) * RESOURCE_SIZE)


def _answered(cluster: Cluster, request: Request, asked: AlterConfigsRequest, turn: Turn) -> Steps:
    times = Counter((resource.resource_type, resource.resource_name) for resource in asked.resources)
    responses = []
    for each in asked.resources:
        twice = times[each.resource_type, each.resource_name] > 1
        responses.append(_altered(cluster, turn, request, each, asked.validate_only, twice))
        yield
    turn.reply(request.ticket, AlterConfigsResponse(responses=responses))


def check_price(cluster: Cluster, node: int, resources: Sequence[AlterConfigsResource | Incremental], turn: Turn) -> None:
    """Count every resource, as often as it is named, every change, and the old and new values against the work limit of the request.
    Raises OverBudget."""
    ration, overrides = Ration(turn.settings), cluster.topics.broker_overrides(node)
    ration.take_names([resource.resource_name for resource in resources], RESOURCE_COST)
    ration.take(within([resource.configs for resource in resources]), CHANGE_COST)
    ration.take_names([text for resource in resources for config in resource.configs for text in (config.name, config.value or "")], 0)
    for resource in resources:
        topic = cluster.topics.get(resource.resource_name) if resource.resource_type == TOPIC else None
        if topic is not None:
            ration.take_names(list(topic.configs.values()), CHANGE_COST)
        elif resource.resource_type == GROUP:
            ration.take(1, GROUP_COST)
        elif resource.resource_type == BROKER:
            ration.take(1, BROKER_COST)
            ration.take_names([*overrides.node.values(), *overrides.cluster.values()], CHANGE_COST)


def config_refusal(cluster: Cluster, turn: Turn, request: Request, operation: int, kind: int, name: str) -> TopicRefused | None:
    """Return the error of a config resource on which the sender may not do the operation, or None (SEC-97)."""
    on = RIGHT_OF_KIND.get(kind)
    if on is None or (kind == GROUP and turn.quirks.no_group_configs):
        return None
    if not cluster.denied(turn, request, operation, on, (CLUSTER_NAME if on == CLUSTER else name,)):
        return None
    # An answer about changed configs of a broker has no text, unlike in Kafka 3.9, where the controller checks the right.
    silent = on == CLUSTER and operation == ALTER_CONFIGS and not turn.quirks.broker_name_checked_before_rights
    return TopicRefused(DENIED[on], "" if silent else DENIED_TEXT[on])


def alter_resource(cluster: Cluster, turn: Turn, request: Request, wanted: Alteration, validate_only: bool) -> None:
    """Change one resource, or only check whether it could be changed. Raises TopicRefused."""
    check_changes(wanted)
    if wanted.kind == BROKER and turn.quirks.broker_name_checked_before_rights:
        check_broker_name(wanted.name, request.node, f"expected {request.node}", "Node")
    refusal = config_refusal(cluster, turn, request, ALTER_CONFIGS, wanted.kind, wanted.name)
    if refusal is not None:
        raise refusal
    if wanted.kind == GROUP and not turn.quirks.no_group_configs:
        cluster.groups.configs.alter(request.node, wanted, validate_only)
    else:
        alter(turn, cluster.topics, request.node, wanted, validate_only)


def _altered(
    cluster: Cluster, turn: Turn, request: Request, resource: AlterConfigsResource, validate_only: bool, twice: bool
) -> AlterConfigsResourceResponse:
    answer = AlterConfigsResourceResponse(error_message=None, resource_type=resource.resource_type, resource_name=resource.resource_name)
    changes = [Change(config.name, SET, config.value) for config in resource.configs]
    try:
        if twice:
            raise TopicRefused(error_codes.INVALID_REQUEST, TWICE)
        wanted = Alteration(resource.resource_type, resource.resource_name, changes, replace=True)
        alter_resource(cluster, turn, request, wanted, validate_only)
    except TopicRefused as refused:
        answer.error_code, answer.error_message = refused.code, refused.message or None
    return answer
