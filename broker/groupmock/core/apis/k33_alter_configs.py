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

from ..budget import Ration, within
from ..groups.configs import GROUP
from ..log.altering import BROKER, TOPIC, alter, check_changes
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
        responses.append(_altered(cluster, turn, request.node, each, asked.validate_only, twice))
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


def alter_resource(cluster: Cluster, turn: Turn, node: int, wanted: Alteration, validate_only: bool) -> None:
    """Change one resource, or only check whether it could be changed. Raises TopicRefused."""
    if wanted.kind == GROUP and not turn.quirks.no_group_configs:
        check_changes(wanted)
        cluster.groups.configs.alter(node, wanted, validate_only)
    else:
        alter(turn, cluster.topics, node, wanted, validate_only)


def _altered(
    cluster: Cluster, turn: Turn, node: int, resource: AlterConfigsResource, validate_only: bool, twice: bool
) -> AlterConfigsResourceResponse:
    answer = AlterConfigsResourceResponse(error_message=None, resource_type=resource.resource_type, resource_name=resource.resource_name)
    changes = [Change(config.name, SET, config.value) for config in resource.configs]
    try:
        if twice:
            raise TopicRefused(error_codes.INVALID_REQUEST, TWICE)
        wanted = Alteration(resource.resource_type, resource.resource_name, changes, replace=True)
        alter_resource(cluster, turn, node, wanted, validate_only)
    except TopicRefused as refused:
        answer.error_code, answer.error_message = refused.code, refused.message or None
    return answer
