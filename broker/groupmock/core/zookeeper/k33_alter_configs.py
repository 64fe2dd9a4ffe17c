"""AlterConfigs (33) as Kafka 2.8 has it: a null value, or a resource that cannot be altered, spoils the whole request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k33_alter_configs import AlterConfigsRequest, AlterConfigsResourceResponse, AlterConfigsResponse

from ..apis.k33_alter_configs import abandoned, altered, check_price
from ..log.refusal import TopicRefused
from . import admin_manager
from .altering import alter

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """One answer per resource."""
    asked = request.message
    assert isinstance(asked, AlterConfigsRequest)
    check_price(cluster, request.node, asked.resources, turn)
    if not abandoned(request, asked, turn):
        turn.reply(request.ticket, _spoiled(asked) or altered(cluster, request.node, asked, turn, alter))


def _spoiled(asked: AlterConfigsRequest) -> AlterConfigsResponse | None:
    """The answer to a request with a null value, or with a resource that cannot be altered."""
    try:
        if any(config.value is None for each in asked.resources for config in each.configs):
            raise TopicRefused(ErrorCode.UNKNOWN_SERVER_ERROR, "")
        admin_manager.check_kinds(resource.resource_type for resource in asked.resources)
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
