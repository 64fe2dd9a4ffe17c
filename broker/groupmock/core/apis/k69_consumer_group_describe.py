"""ConsumerGroupDescribe (69) of a broker whose consumer protocol is off: 35 for each group, as often as it is named (KIP-848)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k69_consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)

from ..budget import Ration

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

GROUP_COST: Final = 4  # core.budget


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Groups of the classic protocol are not looked for either."""
    asked = request.message
    assert isinstance(asked, ConsumerGroupDescribeRequest)
    Ration(turn.settings).take_names(asked.group_ids, GROUP_COST)
    groups = [DescribedGroup(group_id=group, error_code=ErrorCode.UNSUPPORTED_VERSION) for group in asked.group_ids]
    turn.reply(request.ticket, ConsumerGroupDescribeResponse(groups=groups))
