"""The settings of secured listeners under Kafka's names. They are declared like `core.settings`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, NamedTuple

import msgspec

from ..core.setting_declarations import INT_MAX, setting

OAUTHBEARER: Final = "OAUTHBEARER"
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER)
"""The mechanisms that are served. Kafka also has GSSAPI."""
PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""The names of Kafka's security protocols (SecurityProtocol)."""
TLS_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
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
        str, setting("ssl.enabled.protocols", f"versions of TLS, separated by commas, out of {', '.join(TLS_VERSIONS)}")
    ] = ",".join(TLS_VERSIONS)
    ssl_principal_mapping_rules: Annotated[
        str, setting("ssl.principal.mapping.rules", "how the name in a client's certificate becomes its principal (KIP-371)")
    ] = "DEFAULT"
    sasl_oauthbearer_jwks_endpoint_url: Annotated[
        str, setting("sasl.oauthbearer.jwks.endpoint.url", "file: URL of the key set (JWKS) by which bearer tokens have to be signed")
    ] = ""
    sasl_oauthbearer_expected_audience: Annotated[
        str, setting("sasl.oauthbearer.expected.audience", "audiences (aud) of signed tokens, separated by commas, of which one is needed")
    ] = ""
    sasl_oauthbearer_allow_unverified_audience: Annotated[
        bool, setting("sasl.oauthbearer.allow.unverified.audience", "without an expected audience, accept tokens of any (since 4.4.0)")
    ] = False
    sasl_oauthbearer_expected_issuer: Annotated[
        str, setting("sasl.oauthbearer.expected.issuer", "the issuer (iss) that signed tokens need")
    ] = ""
    sasl_oauthbearer_allow_unverified_issuer: Annotated[
        bool, setting("sasl.oauthbearer.allow.unverified.issuer", "without an expected issuer, accept tokens of any (since 4.4.0)")
    ] = False
    sasl_oauthbearer_clock_skew_seconds: Annotated[
        int, setting("sasl.oauthbearer.clock.skew.seconds", "how far the clock of whoever signs tokens may differ", 0, INT_MAX)
    ] = 30
    sasl_oauthbearer_scope_claim_name: Annotated[
        str, setting("sasl.oauthbearer.scope.claim.name", "the claim of a signed token that has its scopes")
    ] = "scope"
    sasl_oauthbearer_sub_claim_name: Annotated[
        str, setting("sasl.oauthbearer.sub.claim.name", "the claim of a signed token that names its principal")
    ] = "sub"

    @property
    def mechanisms(self) -> list[str]:
        """The enabled mechanisms in the order of the setting."""
        return _words(self.sasl_enabled_mechanisms)

    @property
    def tls_versions(self) -> list[str]:
        return _words(self.ssl_enabled_protocols)

    @property
    def audiences(self) -> list[str]:
        return _words(self.sasl_oauthbearer_expected_audience)


def _words(text: str) -> list[str]:
    """Return the words of a list in Kafka's form."""
    return [word.strip() for word in text.split(",") if word.strip()]


class ListenerSettings(NamedTuple):
    """The settings of one listener. `of_mechanism` has those of mechanisms for which the listener has values of their own."""

    settings: SecuritySettings = SecuritySettings()
    of_mechanism: Mapping[str, SecuritySettings] = {}

    def of(self, mechanism: str) -> SecuritySettings:
        return self.of_mechanism.get(mechanism, self.settings)
