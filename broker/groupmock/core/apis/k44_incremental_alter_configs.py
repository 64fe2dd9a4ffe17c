"""IncrementalAlterConfigs (44) sets, deletes, appends to and subtracts from single configs (KIP-339)."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from groupmock_codec import error_codes
from groupmock_codec.messages.k44_incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

from ..log.change import Alteration, Change
from ..log.refusal import TopicRefused
from .k33_alter_configs import RESOURCE_SIZE, TWICE, alter_resource, check_price

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn
    from ..work import Steps


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Change each resource on its own and answer a row for each. A resource that is listed twice is refused each time."""
    asked = request.message
    assert isinstance(asked, IncrementalAlterConfigsRequest)
    check_price(cluster, request.node, asked.resources, turn)
    turn.begin_on_topics(partial(_answered, cluster, request, asked), len(asked.resources) * RESOURCE_SIZE)


def _answered(cluster: Cluster, request: Request, asked: IncrementalAlterConfigsRequest, turn: Turn) -> Steps:
    seen = Counter((resource.resource_type, resource.resource_name) for resource in asked.resources)
    responses = []
    for each in asked.resources:
        twice = seen[each.resource_type, each.resource_name] > 1
        responses.append(_altered(cluster, turn, request, each, asked.validate_only, twice))
        yield
    turn.reply(request.ticket, IncrementalAlterConfigsResponse(responses=responses))


def _altered(
    cluster: Cluster, turn: Turn, request: Request, resource: AlterConfigsResource, validate_only: bool, twice: bool
) -> AlterConfigsResourceResponse:
    answer = AlterConfigsResourceResponse(error_message=None, resource_type=resource.resource_type, resource_name=resource.resource_name)
    changes = [Change(config.name, config.config_operation, config.value) for config in resource.configs]
    try:
        if twice:
            raise TopicRefused(error_codes.INVALID_REQUEST, TWICE)
        wanted = Alteration(resource.resource_type, resource.resource_name, changes, replace=False)
        alter_resource(cluster, turn, request, wanted, validate_only)
    except TopicRefused as refused:
        answer.error_code, answer.error_message = refused.code, refused.message or None
    return answer
