"""Set up what the secured listeners of a configuration need: certificates, TLS and users."""

from __future__ import annotations

import shutil
import ssl
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from groupmock_codec.extras import pip_install

from ..config.listeners import Security
from ..net.secured import Check, Secured
from ..security.settings import OAUTHBEARER, WITH_SASL, WITH_TLS, SecuritySettings

if TYPE_CHECKING:
    from ..config.resolve import Config
    from ..core.core import Core
    from ..net.clock import Clock
    from ..security.certificates import Files
    from ..security.signed_tokens import Keys
    from ..security.token_issuer import TokenIssuer

VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
CLIENT_AUTH: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


class CannotSecure(Exception):
    """Raised if certificates cannot be made or read. The message names the place and the remedy."""


class TlsOfRun(NamedTuple):
    """The certificates of a run. `contexts` has the TLS of each listener with TLS. `files` are those that groupmock made, else None, and
    `temporary` the folder to remove at the end. `with_fault` makes the certificates that fault rules show, if groupmock made the others."""

    contexts: dict[str, ssl.SSLContext]
    files: Files | None
    temporary: str | None
    with_fault: Callable[[str], ssl.SSLContext] | None = None

    def remove(self) -> None:
        """Remove certificates that only this run needed."""
        if self.temporary is not None:
            shutil.rmtree(self.temporary, ignore_errors=True)


def tls_of(config: Config) -> TlsOfRun | None:
    """Read or make the certificates of the TLS listeners, if there are any. Raises CannotSecure."""
    assert config.security is not None
    listeners = [each for each in config.listeners if each.protocol in WITH_TLS]
    if not listeners:
        return None
    names = [each.name for each in listeners]
    if config.security.certificate is not None:
        return TlsOfRun(_read(config.security, names), None, None)
    hosts = [each.host for each in listeners]
    if config.advertise is not None:
        hosts.append(config.advertise.host)
    return _made(config.security, names, hosts)


def issuer_of(config: Config) -> TokenIssuer | None:
    """Make the key that signs the tokens of a run, if they are to be signed by groupmock. Raises CannotSecure."""
    if config.security is None or not config.security.signed:
        return None
    try:
        from ..security.token_issuer import TokenIssuer
    except ImportError:
        raise CannotSecure(f"--oauth signed needs joserfc: {pip_install('oauth')}") from None
    return TokenIssuer()


def secured_of(config: Config, core: Core, clock: Clock, tls: TlsOfRun | None, issuer: TokenIssuer | None) -> Secured:
    """Make what all secured listeners of the run share. Raises CannotSecure."""
    security = config.security
    assert security is not None
    return Secured(
        security.listeners,
        core.cluster.credentials,
        core.environment.wall_ms,
        clock.now,
        any_user=security.any_user,
        contexts=tls.contexts if tls is not None else None,
        checks=_token_checks(config, issuer),
        with_fault=tls.with_fault if tls is not None else None,
    )


def _token_checks(config: Config, issuer: TokenIssuer | None) -> dict[str, Check]:
    """Return the check of each listener that wants signed tokens."""
    assert config.security is not None
    checks: dict[str, Check] = {}
    for each in config.listeners:
        settings = config.security.listeners[each.name].of(OAUTHBEARER)
        if each.protocol in WITH_SASL and OAUTHBEARER in settings.mechanisms and (settings.sasl_oauthbearer_jwks_endpoint_url or issuer):
            checks[each.name] = _token_check(settings, issuer)
    return checks


def _token_check(settings: SecuritySettings, issuer: TokenIssuer | None) -> Check:
    try:
        from ..security.signed_tokens import BadKeySet, KeyFile, check
    except ImportError:
        raise CannotSecure(f"signed tokens need joserfc: {pip_install('oauth')}") from None
    keys: Keys
    if url := settings.sasl_oauthbearer_jwks_endpoint_url:
        keys = KeyFile(path := url2pathname(urlsplit(url).path))
        try:
            keys.now()
        except BadKeySet as bad:
            raise CannotSecure(f"cannot use the key set {path} (sasl.oauthbearer.jwks.endpoint.url): {bad}") from None
    else:
        assert issuer is not None
        keys = issuer
    return lambda token, now_ms: check(token, now_ms, keys, settings)


def _made(security: Security, names: list[str], hosts: list[str]) -> TlsOfRun:
    try:
        from ..security import certificates
    except ImportError:
        raise CannotSecure(
            f"TLS listeners without --tls-cert need a throw-away certificate, and so cryptography: {pip_install('tls')}"
        ) from None
    ca = certificates.authority()
    hosts = [*certificates.ALWAYS_NAMED, *hosts]
    server = certificates.issued(ca, "groupmock", hosts)
    client = certificates.issued(ca, "groupmock client")
    temporary = tempfile.mkdtemp(prefix="groupmock-tls-") if security.folder is None else None
    folder = security.folder if temporary is None else temporary
    assert folder is not None
    try:
        files = certificates.write(Path(folder), ca, server, client)
        contexts = _contexts(security, names, files.certificate, files.key, files.ca)
    except OSError as trouble:
        raise CannotSecure(f"cannot write certificates into {folder}: {trouble.strerror}: choose another --tls-dir") from None

    @cache
    def with_fault(which: str) -> ssl.SSLContext:
        made = _server_context(security.settings)
        certificates.load(made, certificates.with_fault(ca, hosts, which))
        return made

    return TlsOfRun(contexts, files, temporary, with_fault)


def _read(security: Security, names: list[str]) -> dict[str, ssl.SSLContext]:
    assert security.certificate is not None
    try:
        return _contexts(security, names, security.certificate, security.key, security.ca)
    except OSError as trouble:  # ssl.SSLError is an OSError.
        reason = trouble.strerror or str(trouble)
        named = f"the certificate {security.certificate}, its key or the CA"
        raise CannotSecure(f"cannot use {named}: {reason}: each has to be a PEM file") from None


def _contexts(security: Security, names: list[str], certificate: str, key: str | None, ca: str | None) -> dict[str, ssl.SSLContext]:
    return {name: _context(security.listeners[name].settings, certificate, key, ca) for name in names}


def _context(settings: SecuritySettings, certificate: str, key: str | None, ca: str | None) -> ssl.SSLContext:
    context = _server_context(settings)
    context.load_cert_chain(certificate, key)
    context.verify_mode = CLIENT_AUTH[settings.ssl_client_auth]
    if ca is not None:
        context.load_verify_locations(ca)
    return context


def _server_context(settings: SecuritySettings) -> ssl.SSLContext:
    """Return a context with the versions of TLS that the settings name, and without a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = min(VERSIONS[name] for name in settings.tls_versions)
    context.maximum_version = max(VERSIONS[name] for name in settings.tls_versions)
    return context
