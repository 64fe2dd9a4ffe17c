"""ListPartitionReassignments (46) lists no reassignment, because each is complete as soon as it is requested (log.reassigning; KIP-455)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec.messages.k46_list_partition_reassignments import ListPartitionReassignmentsResponse

from ..authorizer.acl import DESCRIBE
from ..authorizer.right import Right

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

RIGHTS: Final = (Right(DESCRIBE),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    turn.reply(request.ticket, ListPartitionReassignmentsResponse(error_message=None))


def refused(request: Request, code: int, text: str) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_code=code, error_message=text)
