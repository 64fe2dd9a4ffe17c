"""Tells clients how to reach a listener of a running cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..config.option_values import ConfigError
from ..core.events import PLAINTEXT
from ..security.client_settings import ClientSecurity
from ..security.settings import OAUTHBEARER, WITH_SASL, WITH_TLS

if TYPE_CHECKING:
    from .running import Running


def client_security(running: Running, listener: str | None, user: str | None, mechanism: str, certificate: bool) -> ClientSecurity:
    """Return what a client has to be told to reach a listener (None: the first one). Raises ConfigError."""
    specs = {each.name: each.protocol for each in running.config.listeners} or {PLAINTEXT: PLAINTEXT}
    name = next(iter(specs)) if listener is None else listener
    if name not in specs:
        raise ConfigError(f"no listener {name!r}: there are {', '.join(specs)}")
    protocol, passwords, security = specs[name], running.cluster.credentials.passwords, running.config.security
    if protocol in WITH_SASL:
        user = next(iter(passwords), "anybody") if user is None else user
        unsecured = mechanism == OAUTHBEARER and running.issuer is None
        if user not in passwords and not unsecured and not (security is not None and security.any_user):
            raise ConfigError(f"no user {user!r} has a password: there are {', '.join(passwords) or 'none'}")
    files = running.tls.files if running.tls is not None and protocol in WITH_TLS else None
    return ClientSecurity(
        bootstrap=running.bootstrap_of(name),
        protocol=protocol,
        ca=files.ca if files is not None else None,
        certificate=files.client_certificate if files is not None and certificate else None,
        key=files.client_key if files is not None and certificate else None,
        user=user if protocol in WITH_SASL else None,
        password=passwords.get(user or "", "anything") if protocol in WITH_SASL else None,
        mechanism=mechanism,
        token_endpoint=_token_endpoint(running, name) if protocol in WITH_SASL and mechanism == OAUTHBEARER else None,
    )


def _token_endpoint(running: Running, listener: str) -> str | None:
    """Return the URL that gives out tokens for a listener, or None if it accepts unsecured tokens. Raises ConfigError."""
    assert running.config.security is not None
    if running.config.security.listeners[listener].of(OAUTHBEARER).sasl_oauthbearer_jwks_endpoint_url:
        raise ConfigError("tokens are signed by others (sasl.oauthbearer.jwks.endpoint.url): tell the client their token endpoint")
    if running.issuer is None:
        return None
    if running.control is None:
        raise ConfigError("signed tokens come from the token endpoint of the control API: add control=0 (--control)")
    return f"{running.control}/v1/oauth/token?listener={listener}"
