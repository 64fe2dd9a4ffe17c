"""ListPartitionReassignments (46): none is on its way, as each is done when it is ordered (log.reassigning; KIP-455)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k46_list_partition_reassignments import ListPartitionReassignmentsResponse

from ..log.refusal import WRONG_CONTROLLER

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Also of topics that do not exist. In 2.8 only the controller knows."""
    if turn.quirks.controller_only and request.node != cluster.topics.controller():
        refused = ListPartitionReassignmentsResponse(error_code=ErrorCode.NOT_CONTROLLER, error_message=WRONG_CONTROLLER)
        turn.reply(request.ticket, refused)
        return
    text = "" if turn.quirks.zookeeper_admin else None
    turn.reply(request.ticket, ListPartitionReassignmentsResponse(error_message=text))
