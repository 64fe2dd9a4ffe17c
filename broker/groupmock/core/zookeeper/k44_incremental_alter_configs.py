"""IncrementalAlterConfigs (44) as Kafka 2.8 has it: a resource that cannot be altered spoils the whole request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec.messages.k44_incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

from ..apis.k33_alter_configs import check_price
from ..apis.k44_incremental_alter_configs import altered
from ..log.refusal import TopicRefused
from . import admin_manager
from .altering import alter

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """One answer per resource. A Scala map holds them: the last one of a resource counts."""
    asked = request.message
    assert isinstance(asked, IncrementalAlterConfigsRequest)
    check_price(cluster, request.node, asked.resources, turn)
    # Later releases refuse each of them (42): docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    last = {(resource.resource_type, resource.resource_name): resource for resource in asked.resources}
    turn.reply(request.ticket, _spoiled(asked) or altered(cluster, request.node, asked, list(last.values()), turn, alter))


def _spoiled(asked: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse | None:
    """The answer to a request with a resource that cannot be altered."""
    try:
        admin_manager.check_kinds(resource.resource_type for resource in asked.resources)
    except TopicRefused as refused:
        rows = [
            AlterConfigsResourceResponse(
                error_code=refused.code, error_message=refused.message, resource_type=each.resource_type, resource_name=each.resource_name
            )
            for each in asked.resources
        ]
        return IncrementalAlterConfigsResponse(responses=rows)
    return None
