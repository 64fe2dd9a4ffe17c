"""The settings of secured listeners under Kafka's names. They are declared like `core.settings`."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from ..core.settings import INT_MAX, setting

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
"""The mechanisms that are served. Kafka also has GSSAPI."""
PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""The names of Kafka's security protocols (SecurityProtocol)."""
WITH_TLS: Final = ("SSL", "SASL_SSL")
WITH_SASL: Final = ("SASL_PLAINTEXT", "SASL_SSL")


class SecuritySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that only secured listeners read. Defaults are Kafka's, except for the enabled mechanisms (GSSAPI alone in Kafka)."""

    sasl_enabled_mechanisms: Annotated[
        str, setting("sasl.enabled.mechanisms", f"what SASL listeners accept, separated by commas, out of {', '.join(MECHANISMS)}")
    ] = ",".join(MECHANISMS)
    connections_max_reauth_ms: Annotated[
        int, setting("connections.max.reauth.ms", "after so long a client has to authenticate again (KIP-368; 0: never)", 0, 2**62)
    ] = 0
    connection_failed_authentication_delay_ms: Annotated[
        int, setting("connection.failed.authentication.delay.ms", "pause before a failed authentication is answered and closed", 0, 10_000)
    ] = 100
    sasl_server_max_receive_size: Annotated[
        int, setting("sasl.server.max.receive.size", "largest frame of a client that has not authenticated itself", 1, INT_MAX)
    ] = 524_288
    ssl_client_auth: Annotated[
        str,
        setting("ssl.client.auth", "whether TLS listeners ask clients for a certificate", choices=("none", "requested", "required")),
    ] = "none"
    ssl_enabled_protocols: Annotated[
        str, setting("ssl.enabled.protocols", "versions of TLS, separated by commas, out of TLSv1.2, TLSv1.3")
    ] = "TLSv1.2,TLSv1.3"
    ssl_principal_mapping_rules: Annotated[
        str, setting("ssl.principal.mapping.rules", "how the name in a client's certificate becomes its principal (KIP-371)")
    ] = "DEFAULT"
