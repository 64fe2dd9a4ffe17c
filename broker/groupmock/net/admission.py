"""The admission check decides whether a connection may send a request now, for example before it is authenticated. groupmock has no
security, so a driver without an admission skips it.

It covers authentication. Kafka accepts requests only from an authenticated connection: until then SocketServer's Processor passes what it
reads to the channel's authenticator. For SASL that is SaslServerAuthenticator, which checks the order of ApiVersions, SaslHandshake
(KIP-43) and SaslAuthenticate (KIP-152), the tokens of mechanisms such as SCRAM (KIP-84) and OAUTHBEARER (KIP-255), and the end and renewal
of sessions (KIP-368). For TLS (KIP-12) the transport does the handshake, and only the name in the certificate is left to check. SEC-01 to
SEC-65 in docs/kafka/security.md say what is answered, when, and which mistakes only close the connection.

It does not cover permissions. Each API checks them for each entity: Metadata may leave out one topic and show the next
(kafka.server.KafkaApis, AuthHelper; SEC-70 and on). That belongs to the core, which gets the principal with the request.

The driver calls the admission when it is a request's turn, before the fault gate and the core see the request. ApiVersions in an unknown
version and unreadable frames are handled earlier (KIP-511). Heartbeats that are repeated under a lease are not checked either, so an
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
        """Return None if the request may go on. Otherwise the request ends here, and the effects are performed as if they came from the
        core: a `Reply` answers it, a `Close` ends the connection without an answer. Without effects the connection waits, mute, until
        somebody has the driver perform such an effect (Kafka delays what follows a failed authentication, SEC-11)."""
