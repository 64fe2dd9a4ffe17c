"""SaslAuthenticate (36) on a listener without SASL is refused with ILLEGAL_SASL_STATE (34), but the connection stays open (SEC-08)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k36_sasl_authenticate import SaslAuthenticateResponse

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

# This error message is Kafka's, which it also sends to a connection that never authenticated (SEC-08).
LATE: Final = "SaslAuthenticate request received after successful authentication"


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    turn.reply(request.ticket, SaslAuthenticateResponse(error_code=error_codes.ILLEGAL_SASL_STATE, error_message=LATE))
