"""IncrementalAlterConfigs (44): SET, DELETE, APPEND and SUBTRACT single configs (KIP-339)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k44_incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

from ..log import zookeeper_admin
from ..log.altering import alter
from ..log.change import Alteration, Change
from ..log.refusal import TopicRefused
from .k33_alter_configs import TWICE

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """One answer per resource; a resource listed twice is refused each time (2.8: answered once)."""
    asked = request.message
    assert isinstance(asked, IncrementalAlterConfigsRequest)
    resources = asked.resources
    if turn.quirks.zookeeper_admin:  # a Scala map holds them: the last one of a resource counts
        refused = _spoiled(asked)
        if refused is not None:
            turn.reply(request.ticket, refused)
            return
        resources = list({(resource.resource_type, resource.resource_name): resource for resource in resources}.values())
    seen = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    responses = []
    for resource in resources:
        twice = seen[resource.resource_type, resource.resource_name] > 1
        responses.append(_altered(cluster, turn, request.node, resource, asked.validate_only, twice))
    turn.reply(request.ticket, IncrementalAlterConfigsResponse(responses=responses))


def _spoiled(asked: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse | None:
    """What Kafka 2.8 answers to a request with a resource that cannot be altered."""
    try:
        zookeeper_admin.check_kinds(resource.resource_type for resource in asked.resources)
    except TopicRefused as refused:
        rows = [
            AlterConfigsResourceResponse(
                error_code=refused.code, error_message=refused.message, resource_type=each.resource_type, resource_name=each.resource_name
            )
            for each in asked.resources
        ]
        return IncrementalAlterConfigsResponse(responses=rows)
    return None


def _altered(
    cluster: Cluster, turn: Turn, node: int, resource: AlterConfigsResource, validate_only: bool, twice: bool
) -> AlterConfigsResourceResponse:
    answer = AlterConfigsResourceResponse(error_message=None, resource_type=resource.resource_type, resource_name=resource.resource_name)
    changes = [Change(config.name, config.config_operation, config.value) for config in resource.configs]
    try:
        if twice:
            raise TopicRefused(ErrorCode.INVALID_REQUEST, TWICE)
        wanted = Alteration(resource.resource_type, resource.resource_name, changes, replace=False)
        alter(turn, cluster.topics, node, wanted, validate_only)
    except TopicRefused as refused:
        answer.error_code, answer.error_message = refused.code, refused.message or None
    return answer
