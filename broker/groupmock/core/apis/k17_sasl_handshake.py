"""SaslHandshake (17) on a listener without SASL is refused with ILLEGAL_SASL_STATE (34) and no mechanisms, but the connection stays open
(SEC-08).

The Java client ends with "Unexpected handshake request with client mechanism PLAIN, enabled mechanisms are []".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec import error_codes
from groupmock_codec.messages.k17_sasl_handshake import SaslHandshakeResponse

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    turn.reply(request.ticket, SaslHandshakeResponse(error_code=error_codes.ILLEGAL_SASL_STATE))
