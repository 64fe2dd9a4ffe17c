"""Set up what the secured listeners of a configuration need: certificates, TLS and users."""

from __future__ import annotations

import shutil
import ssl
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from groupmock_codec.extras import pip_install

from ..config.listeners import Security
from ..net.secured import Secured
from ..security.principals import rules_of
from ..security.settings import WITH_TLS

if TYPE_CHECKING:
    from ..config.resolve import Config
    from ..core.core import Core
    from ..net.clock import Clock
    from ..security.certificates import Files

VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
CLIENT_AUTH: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


class CannotSecure(Exception):
    """Raised if certificates cannot be made or read. The message names the place and the remedy."""


class TlsOfRun(NamedTuple):
    """The certificates of a run. `files` are those that groupmock made, else None, and `temporary` the folder to remove at the end.
    `with_fault` makes the certificates that fault rules show, if groupmock made the others."""

    context: ssl.SSLContext
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
    hosts = [each.host for each in config.listeners if each.protocol in WITH_TLS]
    if not hosts:
        return None
    if config.security.certificate is not None:
        return TlsOfRun(_read(config.security), None, None)
    if config.advertise is not None:
        hosts.append(config.advertise.host)
    return _made(config.security, hosts)


def secured_of(config: Config, core: Core, clock: Clock, tls: TlsOfRun | None) -> Secured:
    """Make what all secured listeners of the run share."""
    security = config.security
    assert security is not None
    return Secured(
        security.settings,
        core.cluster.credentials,
        core.environment.wall_ms,
        clock.now,
        any_user=security.any_user,
        context=tls.context if tls is not None else None,
        rules=rules_of(security.settings.ssl_principal_mapping_rules),
        with_fault=tls.with_fault if tls is not None else None,
    )


def _made(security: Security, hosts: list[str]) -> TlsOfRun:
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
        context = _context(security, files.certificate, files.key, files.ca)
    except OSError as trouble:
        raise CannotSecure(f"cannot write certificates into {folder}: {trouble.strerror}: choose another --tls-dir") from None

    @cache
    def with_fault(which: str) -> ssl.SSLContext:
        made = _server_context(security)
        certificates.load(made, certificates.with_fault(ca, hosts, which))
        return made

    return TlsOfRun(context, files, temporary, with_fault)


def _read(security: Security) -> ssl.SSLContext:
    assert security.certificate is not None
    try:
        return _context(security, security.certificate, security.key, security.ca)
    except OSError as trouble:  # ssl.SSLError is an OSError.
        reason = trouble.strerror or str(trouble)
        named = f"the certificate {security.certificate}, its key or the CA"
        raise CannotSecure(f"cannot use {named}: {reason}: each has to be a PEM file") from None


def _context(security: Security, certificate: str, key: str | None, ca: str | None) -> ssl.SSLContext:
    context = _server_context(security)
    context.load_cert_chain(certificate, key)
    context.verify_mode = CLIENT_AUTH[security.settings.ssl_client_auth]
    if ca is not None:
        context.load_verify_locations(ca)
    return context


def _server_context(security: Security) -> ssl.SSLContext:
    """Return a context with the versions of TLS that the settings name, and without a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    names = [name.strip() for name in security.settings.ssl_enabled_protocols.split(",") if name.strip()]
    context.minimum_version = min(VERSIONS[name] for name in names)
    context.maximum_version = max(VERSIONS[name] for name in names)
    return context
