"""Connects to a real cluster and explains in a sentence why a connection failed."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from groupmock_codec import APIS
from groupmock_codec.errors import CodecError
from groupmock_codec.headers import RequestHeader, encode_request_header

from ..config.resolve import ConfigError
from ..net.listen import bracketed
from ..security.login import Credentials, LoginFailed
from ..security.settings import MECHANISMS
from ..server.running import CannotStart

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

CONNECT_S: Final = 10.0
MOST_BYTES: Final = 1_048_576
"""No answer of an authentication is longer."""
CLIENT_ID: Final = "groupmock"
BEARER: Final = "OAUTHBEARER"
PASSWORD: Final = "GROUPMOCK_SASL_PASSWORD"
"""The environment variable with the password or token for the upstream of a recording, or for a judged broker."""
TLS_ALERT: Final = b"\x15\x03"
"""The record with which a TLS peer answers anything that is not TLS (RFC 8446, 5.1)."""


class Where(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"{bracketed(self.host)}:{self.port}"


class NotAuthenticated(Exception):
    """Raised if the cluster does not let us in; the text is for users and has no secret."""


class Called(NamedTuple):
    """The cluster's name in error messages, and the flags that name it and configure TLS (`tls`, `tls`-ca, ...) and SASL."""

    what: str
    flag: str
    tls: str
    sasl: str

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


async def authenticate(reader: asyncio.StreamReader, write: Callable[[bytes], None], credentials: Credentials, where: Where) -> None:
    """Authenticate on a connection that was just opened. Raises NotAuthenticated with a sentence that has no secret."""
    side = AnswerReader(reader)
    steps = credentials.login()
    try:
        async with asyncio.timeout(CONNECT_S):
            request = next(steps)
            while True:
                write(side.request(*request))
                request = steps.send(await side.answer(*request[:2]))
    except StopIteration:
        return
    except LoginFailed as refused:
        raise NotAuthenticated(f"{where} refuses the credentials: {refused}") from None
    except TimeoutError:
        raise NotAuthenticated(f"{where} does not answer the authentication within {CONNECT_S:.0f} s") from None
    except (asyncio.IncompleteReadError, OSError, CodecError):
        raise NotAuthenticated(f"{where} closed the connection at the authentication: is it a listener with SASL?") from None


class AnswerReader:
    """Frames the requests of an authentication and reads their answers, one after the other."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._correlation = 0

    def request(self, key: int, version: int, message: Message) -> bytes:
        self._correlation += 1
        head = encode_request_header(RequestHeader(key, version, self._correlation, CLIENT_ID))
        frame = head + APIS[key].request.encode(version, message)
        return len(frame).to_bytes(4, "big") + frame

    async def answer(self, key: int, version: int) -> Message:
        size = int.from_bytes(await self._reader.readexactly(4), "big")
        frame = await self._reader.readexactly(min(size, MOST_BYTES))
        return APIS[key].response.decode(version, frame[4:], trailing=True)


async def reach(
    where: Where, tls: ssl.SSLContext | None, called: Called, credentials: Credentials | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection to the cluster and authenticate on it. Raises CannotStart with a sentence that names the remedy."""
    reader, writer = await _opened(where, tls, called)
    if credentials is not None:
        try:
            await authenticate(reader, writer.write, credentials, where)
        except NotAuthenticated as refused:
            writer.close()
            raise CannotStart(f"the {called.what} {refused}: see {called.sasl}-user") from None
    return reader, writer


async def _opened(where: Where, tls: ssl.SSLContext | None, called: Called) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
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
