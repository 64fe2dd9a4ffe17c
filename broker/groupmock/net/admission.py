"""What a connection may ask now. Nothing is in this room while there is no security: a driver that was handed no admission asks nobody.

What comes here. Kafka lets a connection into its request queue only when it is authenticated: SocketServer's Processor hands what it
reads to the channel's authenticator until that is done. For SASL that is SaslServerAuthenticator: the order of ApiVersions, SaslHandshake
(KIP-43) and SaslAuthenticate (KIP-152), tokens of mechanisms such as SCRAM (KIP-84) and OAUTHBEARER (KIP-255), the session that ends and
the re-authentication that prolongs it (KIP-368). For TLS (KIP-12) the handshake is the transport's, and what is left is the name in the
certificate. What is answered, when, and which mistake only closes the connection: docs/kafka/security.md, SEC-01 to SEC-65.

What does not. Rights are asked for in each API, row by row: a Metadata leaves out one topic and shows the next (kafka.server.KafkaApis,
AuthHelper; SEC-70 and on). That is the core's, which a request tells by its principal.

Where it is asked. The driver asks when a call's turn has come and it is open: before the fault gate and the core see it. ApiVersions in an
unknown version and frames that cannot be read never come here; they are dealt with before (KIP-511). Heartbeats that are repeated under
a lease do not come either: an admission that changes its mind about a connection calls `Driver.end_repeats`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..core.effects import Effects
    from .call import Call


class Admission(Protocol):
    """Handed to the driver."""

    def stops(self, call: Call, now: int) -> Effects | None:
        """None: the request goes on. Else it ends here and these effects take place, as if the core had wanted them: a `Reply` answers it
        and the connection goes on, a `Close` ends the connection without an answer. No effect: it waits, its connection mute, until
        somebody has the driver perform such an effect (Kafka delays what follows a failed authentication, SEC-11)."""
