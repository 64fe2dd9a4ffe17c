"""The admission check decides whether a connection may send a request now, for example before it is authenticated. groupmock has no
security, so a driver without an admission skips it.

Included. Kafka lets a connection into its request queue only when it is authenticated: SocketServer's Processor hands what it reads to the
channel's authenticator until that is done. For SASL that is SaslServerAuthenticator: the order of ApiVersions, SaslHandshake (KIP-43) and
SaslAuthenticate (KIP-152), tokens of mechanisms such as SCRAM (KIP-84) and OAUTHBEARER (KIP-255), the session that ends and the
re-authentication that prolongs it (KIP-368). For TLS (KIP-12) the transport does the handshake, and only the name in the certificate is
left to check. docs/kafka/security.md, SEC-01 to SEC-65, says what is answered, when, and which mistake only closes the connection.

Not included. Permissions are checked in each API, row by row: a Metadata leaves out one topic and shows the next (kafka.server.KafkaApis,
AuthHelper; SEC-70 and on). That belongs to the core, which gets the principal with the request.

When. The driver asks when a call's turn has come and it is open, before the fault gate and the core see it. ApiVersions in an unknown
version and frames that cannot be read are handled before (KIP-511). Heartbeats that are repeated under a lease are not checked either: an
admission that changes its mind about a connection calls `Driver.end_repeats`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..core.effects import Effects
    from .call import Call


class Admission(Protocol):
    """The admission check with which the driver was created."""

    def stops(self, call: Call, now: int) -> Effects | None:
        """Return None to let the request go on. Otherwise the request ends here, and the effects are performed as if they came from the
        core: a `Reply` answers it, a `Close` ends the connection without an answer. Without effects the connection waits, mute, until
        somebody has the driver perform such an effect (Kafka delays what follows a failed authentication, SEC-11)."""
