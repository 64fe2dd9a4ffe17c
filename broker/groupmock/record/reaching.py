"""Connects to a real cluster and explains in a sentence why a connection failed."""

from __future__ import annotations

import asyncio
import os
import ssl
from typing import Final, NamedTuple

from ..config.resolve import ConfigError
from ..net.listen import bracketed
from ..security.login import Credentials
from ..security.settings import MECHANISMS
from ..server.running import CannotStart

CONNECT_S: Final = 10.0
BEARER: Final = "OAUTHBEARER"
TLS_ALERT: Final = b"\x15\x03"
"""The record with which a TLS peer answers anything that is not TLS (RFC 8446, 5.1)."""


class Where(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"{bracketed(self.host)}:{self.port}"


class Called(NamedTuple):
    """The cluster's name in error messages, and the flags that name it and configure TLS (`tls`, `tls`-ca, ...)."""

    what: str
    flag: str
    tls: str

    def speaks_tls(self, where: Where) -> str:
        """Return the error message for a peer that answers plain text with a TLS alert."""
        return f"the {self.what} {where} speaks TLS: add {self.tls}"


def address(text: str, flag: str) -> Where:
    """Parse a text of the form HOST:PORT. Raises ConfigError."""
    host, _, port = text.strip().rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ConfigError(f"{flag}: {text!r} is no HOST:PORT")
    return Where(host.strip("[]"), int(port))


def tls_context(wanted: bool, ca: str | None, certificate: str | None, key: str | None, flag: str) -> ssl.SSLContext | None:
    """Return the TLS context for the cluster, made from paths of PEM files, or None for plain text. `flag` is that of TLS. Raises
    ConfigError."""
    if not (wanted or ca or certificate):
        return None
    try:
        context = ssl.create_default_context(cafile=ca)
        if certificate is not None:
            context.load_cert_chain(certificate, key)
    except ssl.SSLError as failure:
        raise ConfigError(f"{flag}-ca, {flag}-cert: {failure.reason or failure}: PEM files are wanted") from None
    except OSError as failure:
        raise ConfigError(f"{flag}-ca, {flag}-cert: {failure.filename or ''}: {failure.strerror}") from None
    return context


def credentials(user: str | None, mechanism: str | None, file: str | None, flag: str, variable: str) -> Credentials | None:
    """Return what to authenticate with, or None without a user. The secret is in a file or in an environment variable, because everybody
    may read the arguments of a process. `flag` begins the names of the flags. Raises ConfigError, which shows no secret."""
    if user is None and mechanism != BEARER:
        if file is not None or mechanism is not None:
            raise ConfigError(f"{flag}-mechanism, {flag}-password-file: they need {flag}-user NAME")
        return None
    chosen = mechanism or MECHANISMS[0]
    if chosen not in MECHANISMS:
        raise ConfigError(f"{flag}-mechanism: {chosen!r} is not spoken: there are {', '.join(MECHANISMS)}")
    if file is None:
        secret = os.environ.get(variable)
        if not secret:
            raise ConfigError(f"{flag}-user: no password: put it into a file ({flag}-password-file FILE) or into {variable}")
        return Credentials(user or "", secret, chosen)
    try:
        with open(file, encoding="utf-8") as opened:
            secret = opened.read().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else "it is no text in UTF-8"
        raise ConfigError(f"{flag}-password-file: cannot read {file}: {reason}") from None
    if not secret:
        raise ConfigError(f"{flag}-password-file: {file} is empty")
    return Credentials(user or "", secret, chosen)


async def reach(where: Where, tls: ssl.SSLContext | None, called: Called) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection to the cluster. Raises CannotStart with a sentence that names the remedy."""
    try:
        async with asyncio.timeout(CONNECT_S):
            name = where.host if tls is not None else None
            return await asyncio.open_connection(where.host, where.port, ssl=tls, server_hostname=name)
    except OSError as failure:
        raise CannotStart(_why_not(where, failure, tls is not None, called)) from None


def _why_not(where: Where, failure: OSError, tls: bool, called: Called) -> str:
    """Return a sentence that says what failed and how to mend it."""
    what, flag = f"the {called.what} {where}", called.tls
    if isinstance(failure, ssl.SSLCertVerificationError):
        return f"{what} shows a certificate that is not trusted: {failure.verify_message}: name its CA with {flag}-ca FILE"
    if tls and isinstance(failure, (ssl.SSLError, ConnectionResetError, ConnectionAbortedError)):
        why = getattr(failure, "reason", None) or failure.strerror or str(failure)
        return f"cannot speak TLS with {what}: {why}: is it a listener without TLS? Then leave {flag} out"
    if isinstance(failure, TimeoutError):
        return f"cannot reach {what}: no answer within {CONNECT_S:.0f} s: is it the right address?"
    why = os.strerror(failure.errno) if failure.errno is not None and failure.errno > 0 else failure.strerror or str(failure)
    return f"cannot reach {what}: {why}: start it, or name another one in {called.flag}"
