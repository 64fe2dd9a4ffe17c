"""ConsumerGroupHeartbeat (68) of a broker whose consumer protocol is off: 35, whatever is asked (KIP-848; P1-c10).

So do 3.9 by default and 4.x with group.coordinator.rebalance.protocols=classic, which advertise it all the same; clients take it as final.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """No member comes into being."""
    asked = request.message
    assert isinstance(asked, ConsumerGroupHeartbeatRequest)
    turn.note("consumer_protocol_is_off", group=asked.group_id, remedy="set group.protocol=classic")
    turn.reply(request.ticket, ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
