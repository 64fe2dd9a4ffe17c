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

from ..log.altering import Alter, alter
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
    if not abandoned(request, asked, turn):
        turn.reply(request.ticket, altered(cluster, request.node, asked, turn, alter))


def abandoned(request: Request, asked: AlterConfigsRequest, turn: Turn) -> bool:
    """Does the release's handler die of this request? Then it is never answered."""
    # 4.3 and 2.8; 3.9 answers 42: docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    dies = turn.quirks.repeated_alteration_unanswered and max(_times(asked).values(), default=1) > 1
    if dies:
        turn.abandon(request.ticket, "AlterConfigs names a resource twice")
    return dies


def altered(cluster: Cluster, node: int, asked: AlterConfigsRequest, turn: Turn, alter: Alter) -> AlterConfigsResponse:
    """Change each resource or say why not."""
    times = _times(asked)
    return AlterConfigsResponse(
        responses=[
            _altered(cluster, turn, node, each, asked.validate_only, times[each.resource_type, each.resource_name] > 1, alter)
            for each in asked.resources
        ]
    )


def _times(asked: AlterConfigsRequest) -> Counter[tuple[int, str]]:
    return Counter((resource.resource_type, resource.resource_name) for resource in asked.resources)


def _altered(
    cluster: Cluster, turn: Turn, node: int, resource: AlterConfigsResource, validate_only: bool, twice: bool, alter: Alter
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
