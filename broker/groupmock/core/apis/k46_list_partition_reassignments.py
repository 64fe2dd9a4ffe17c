"""ListPartitionReassignments (46) answers none, because each is done as soon as it is ordered (log.reassigning; KIP-455)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec.messages.k46_list_partition_reassignments import ListPartitionReassignmentsResponse

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer with no reassignment, also for topics that do not exist."""
    turn.reply(request.ticket, ListPartitionReassignmentsResponse(error_message=None))
