"""A TLS listener on a rig, and clients with sockets that are only bytes."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Final

from sasl_client import PASSWORD

from groupmock.journal.rows import CloseRow
from groupmock.net.connection import Connection
from groupmock.net.secured import Secured
from groupmock.net.tls import Handshakes, TlsTransport
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.unbuffered import Unbuffered
from groupmock.rig.wire import frames_of
from groupmock.rig.wire_rig import WireRig
from groupmock.security import certificates
from groupmock.security.settings import ListenerSettings, SecuritySettings

LISTENER: Final = "OUTSIDE"


class Authority:
    """The certificates of a test, as files."""

    def __init__(self, folder: Path) -> None:
        self.ca = certificates.authority()
        self.folder = folder
        client = certificates.issued(self.ca, "carla")
        self.files = certificates.write(folder, self.ca, certificates.issued(self.ca, "broker", ["localhost"]), client)

    def with_fault(self, which: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificates.load(context, certificates.with_fault(self.ca, ["localhost"], which))
        return context

    def pair(self, name: str, issued: certificates.Issued) -> tuple[str, str]:
        """Write a certificate and its key, and return the paths."""
        paths = self.folder / f"{name}.pem", self.folder / f"{name}-key.pem"
        paths[0].write_bytes(issued.pem)
        paths[1].write_bytes(issued.key_pem)
        return str(paths[0]), str(paths[1])


class TlsWire(Unbuffered):
    """The socket of a connection, with a TLS client at its other end. `raw` are the bytes that the server wrote and the client did not
    read, `text` are the decrypted ones."""

    def __init__(self, house: House, context: ssl.SSLContext | None) -> None:
        super().__init__()
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost") if context else None
        self.raw = self.text = b""
        rig = house.rig
        self.connection = Connection(rig.driver, next(house.numbers), 1, "/127.0.0.1", 40_000, LISTENER)
        protocol = house.secured.protocol(self.connection, rig.driver, house.protocol)
        assert isinstance(protocol, TlsTransport)
        self.protocol = protocol
        protocol.connection_made(self)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.raw += bytes(data)
        self.incoming.write(data)

    def shake(self) -> str | None:
        """Do the client's part of the handshake. Return its error, or None."""
        assert self.tls is not None
        for _ in range(4):
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError as failed:
                self._pass_on()
                return failed.reason
            self._pass_on()
        return None

    def step(self) -> bytes:
        """Do the next part of the client's handshake, and return what it sends."""
        assert self.tls is not None
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return self.outgoing.read()

    def send(self, data: bytes) -> None:
        assert self.tls is not None
        self.tls.write(data)
        self._pass_on()

    def read(self) -> list[bytes]:
        """Return the frames of the server."""
        assert self.tls is not None
        try:
            while piece := self.tls.read(65_536):
                self.text += piece
        except ssl.SSLWantReadError:
            pass
        frames, self.text = frames_of(self.text)
        return frames

    def _pass_on(self) -> None:
        if self.outgoing.pending and not self.closed:
            self.protocol.data_received(self.outgoing.read())


class House:
    """A rig with one TLS listener. `rows` are those of its journal."""

    def __init__(self, authority: Authority, protocol: str = "SSL", soon: Callable[[Callable[[], None]], object] | None = None,
        versions: tuple[ssl.TLSVersion, ssl.TLSVersion] = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3),
        client_auth: ssl.VerifyMode = ssl.CERT_NONE, rules: str = "DEFAULT",
    ) -> None:  # fmt: skip
        self.protocol = protocol
        self.numbers = count(1)
        self.rows = KeptRows()
        users = {"alice": PASSWORD} if protocol == "SASL_SSL" else None
        self.rig = WireRig.make(sinks=[self.rows], listeners={LISTENER: protocol}, users=users)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version, context.maximum_version = versions
        context.load_cert_chain(authority.files.certificate, authority.files.key)
        context.load_verify_locations(authority.files.ca)
        context.verify_mode = client_auth
        settings = ListenerSettings(SecuritySettings(ssl_principal_mapping_rules=rules))
        self.secured = Secured(
            {LISTENER: settings}, self.rig.core.cluster.credentials, self.rig.core.environment.wall_ms, self.rig.clock.now,
            contexts={LISTENER: context}, handshakes=Handshakes(call_soon=soon or (lambda turn: turn())), with_fault=authority.with_fault,
        )  # fmt: skip

    @property
    def reasons(self) -> list[str]:
        return [row.reason for row in self.rows.rows if isinstance(row, CloseRow)]


def trusting(authority: Authority, *, certificate: tuple[str, str] | None = None, version: ssl.TLSVersion | None = None) -> ssl.SSLContext:
    """Return the context of a client that trusts the authority."""
    context = ssl.create_default_context(cafile=authority.files.ca)
    if certificate is not None:
        context.load_cert_chain(*certificate)
    if version is not None:
        context.minimum_version = context.maximum_version = version
    return context
