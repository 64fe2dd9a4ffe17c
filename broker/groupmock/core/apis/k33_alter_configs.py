"""AlterConfigs (33): replace all configs of a resource; what is not named goes back to its default."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k33_alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

from ..log import zookeeper_admin
from ..log.altering import alter
from ..log.change import SET, Alteration, Change
from ..log.refusal import TopicRefused

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

TWICE: Final = "Each resource must appear at most once."


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """One answer per resource. A resource listed twice makes Kafka's handler die without an answer; else it is refused as in 44."""
    asked = request.message
    assert isinstance(asked, AlterConfigsRequest)
    seen = Counter((resource.resource_type, resource.resource_name) for resource in asked.resources)
    if len(seen) < len(asked.resources) and turn.quirks.repeated_alteration_unanswered:
        turn.abandon(request.ticket, "AlterConfigs names a resource twice")
        return
    spoiled = _spoiled(asked) if turn.quirks.zookeeper_admin else None
    if spoiled is not None:
        turn.reply(request.ticket, spoiled)
        return
    responses = []
    for resource in asked.resources:
        twice = seen[resource.resource_type, resource.resource_name] > 1
        responses.append(_altered(cluster, turn, request.node, resource, asked.validate_only, twice))
    turn.reply(request.ticket, AlterConfigsResponse(responses=responses))


def _spoiled(asked: AlterConfigsRequest) -> AlterConfigsResponse | None:
    """What Kafka 2.8 answers to a request with a null value, or with a resource that cannot be altered."""
    try:
        if any(config.value is None for each in asked.resources for config in each.configs):
            raise TopicRefused(ErrorCode.UNKNOWN_SERVER_ERROR, "")
        zookeeper_admin.check_kinds(resource.resource_type for resource in asked.resources)
    except TopicRefused as refused:
        rows = [
            AlterConfigsResourceResponse(
                error_code=refused.code,
                error_message=refused.message or None,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
            for each in asked.resources
        ]
        return AlterConfigsResponse(responses=rows)
    return None


def _altered(
    cluster: Cluster, turn: Turn, node: int, resource: AlterConfigsResource, validate_only: bool, twice: bool
) -> AlterConfigsResourceResponse:
    answer = AlterConfigsResourceResponse(error_message=None, resource_type=resource.resource_type, resource_name=resource.resource_name)
    changes = [Change(config.name, SET, config.value) for config in resource.configs]
    try:
        if twice:
            raise TopicRefused(ErrorCode.INVALID_REQUEST, TWICE)
        wanted = Alteration(resource.resource_type, resource.resource_name, changes, replace=True)
        alter(turn, cluster.topics, node, wanted, validate_only)
    except TopicRefused as refused:
        answer.error_code, answer.error_message = refused.code, refused.message or None
    return answer
