"""TLS between a socket and a connection, without sockets (SEC-60 to SEC-67 of docs/kafka/security.md)."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from cases import for_each
from sasl_client import PASSWORD

from groupmock.faults.plan import read_plan, rule_as_data
from groupmock.journal.rows import CloseRow, FaultRow, NoteRow
from groupmock.net.connection import Connection
from groupmock.net.secured import Secured
from groupmock.net.tls import MOST_HANDSHAKE_BYTES, Handshakes, TlsTransport
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.unbuffered import Unbuffered
from groupmock.rig.wire import frames_of, request
from groupmock.rig.wire_rig import WireRig
from groupmock.security import certificates
from groupmock.security.client_side import plain_token
from groupmock.security.settings import ListenerSettings, SecuritySettings
from groupmock_codec.messages.k17_sasl_handshake import SaslHandshakeRequest
from groupmock_codec.messages.k36_sasl_authenticate import SaslAuthenticateRequest

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


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


class TlsWire(Unbuffered):
    """The socket of a connection, with a TLS client at its other end. `raw` are the bytes that the server wrote and the client did not
    read, `text` are the decrypted ones."""

    def __init__(self, house: House, context: ssl.SSLContext | None) -> None:
        super().__init__()
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost") if context else None
        self.raw = self.text = b""
        self.closed = False
        rig = house.rig
        self.connection = Connection(rig.driver, 1, 1, "/127.0.0.1", 40_000, LISTENER)
        protocol = house.secured.protocol(self.connection, rig.driver, house.protocol)
        assert isinstance(protocol, TlsTransport)
        self.protocol = protocol
        protocol.connection_made(self)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.raw += bytes(data)
        self.incoming.write(data)

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

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


@for_each("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_client_that_trusts_the_authority_is_served(authority: Authority, version: ssl.TLSVersion) -> None:
    wire = TlsWire(House(authority), trusting(authority, version=version))
    assert wire.shake() is None
    wire.send(request(3, 9) + request(3, 9, correlation=2))
    assert len(wire.read()) == 2
    assert wire.connection.principal == "User:ANONYMOUS"


def test_sasl_over_tls_is_served(authority: Authority) -> None:
    wire = TlsWire(House(authority, "SASL_SSL"), trusting(authority))
    wire.shake()
    token = SaslAuthenticateRequest(auth_bytes=plain_token("alice", PASSWORD))
    wire.send(request(17, 1, SaslHandshakeRequest(mechanism="PLAIN")) + request(36, 2, token) + request(3, 9))
    assert len(wire.read()) == 3 and wire.connection.principal == "User:alice"


def test_client_that_does_not_trust_us_ends_the_handshake(authority: Authority) -> None:
    house = House(authority)
    wire = TlsWire(house, ssl.create_default_context())
    assert wire.shake() == "CERTIFICATE_VERIFY_FAILED" and wire.closed
    (reason,) = house.reasons
    assert "does not trust this listener's certificate" in reason


def test_older_version_than_enabled_gets_the_alert_protocol_version(authority: Authority) -> None:
    house = House(authority, versions=(ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_3))
    wire = TlsWire(house, trusting(authority, version=ssl.TLSVersion.TLSv1_2))
    assert wire.shake() == "TLSV1_ALERT_PROTOCOL_VERSION" and wire.closed and "ssl.enabled.protocols" in house.reasons[0]


@for_each("data", [request(18, 3), b"GET / HTTP/1.1\r\n\r\n", b"\0"])
def test_other_bytes_than_tls_get_javas_alert_and_are_closed_at_once(authority: Authority, data: bytes) -> None:
    house = House(authority)
    wire = TlsWire(house, None)
    wire.protocol.data_received(data)
    assert (wire.raw, wire.closed) == (bytes.fromhex("15030300020250"), True)
    assert house.reasons[0].startswith("plain bytes instead of a TLS handshake")


def test_silence_costs_no_tls_and_stays_open(authority: Authority) -> None:
    wire = TlsWire(House(authority), None)
    assert wire.protocol._tls is None and not wire.closed


def test_endless_handshake_is_closed(authority: Authority) -> None:
    house = House(authority, soon=lambda turn: None)
    wire = TlsWire(house, None)
    for _ in range(MOST_HANDSHAKE_BYTES // 4096 + 1):
        wire.protocol.data_received(b"\x16" + bytes(4095))
    assert wire.closed and "more than" in house.reasons[0]


def test_client_that_leaves_in_the_handshake_is_forgotten(authority: Authority) -> None:
    house = House(authority, soon=lambda turn: None)
    wire = TlsWire(house, trusting(authority))
    with pytest.raises(ssl.SSLWantReadError):
        wire.tls.do_handshake()  # type: ignore[union-attr]
    wire._pass_on()
    assert wire.protocol.eof_received() is False
    wire.protocol.connection_lost(None)
    wire.protocol.shake()
    assert not house.rig.driver.connections


def test_handshakes_take_turns(authority: Authority) -> None:
    turns: list[Callable[[], None]] = []
    house = House(authority, soon=turns.append)
    handshakes = house.secured._handshakes
    assert handshakes is not None
    handshakes._slice_ns = -1  # Each turn is over after one handshake.
    wires = [TlsWire(house, None) for _ in range(3)]
    for wire in wires:
        wire.protocol.data_received(request(18, 3))
    closed = []
    while turns:
        turns.pop()()
        closed.append([wire.closed for wire in wires].count(True))
    assert closed == [1, 2, 3]


@for_each("client_auth", [ssl.CERT_OPTIONAL, ssl.CERT_REQUIRED])
@for_each("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_certificate_names_the_principal(authority: Authority, client_auth: ssl.VerifyMode, version: ssl.TLSVersion) -> None:
    house = House(authority, client_auth=client_auth)
    certificate = authority.files.client_certificate, authority.files.client_key
    wire = TlsWire(house, trusting(authority, certificate=certificate, version=version))
    assert wire.shake() is None
    wire.send(request(3, 9))
    assert len(wire.read()) == 1 and wire.connection.principal == "User:CN=carla"
    assert [row.fields["principal"] for row in house.rows.rows if isinstance(row, NoteRow)] == ["User:CN=carla"]


def test_certificate_is_not_asked_for_unless_set(authority: Authority) -> None:
    certificate = authority.files.client_certificate, authority.files.client_key
    wire = TlsWire(House(authority), trusting(authority, certificate=certificate))
    assert wire.shake() is None and wire.connection.principal == "User:ANONYMOUS"


def test_missing_certificate_is_refused_if_required(authority: Authority) -> None:
    house = House(authority, client_auth=ssl.CERT_REQUIRED)
    wire = TlsWire(house, trusting(authority, version=ssl.TLSVersion.TLSv1_2))
    assert wire.shake() is not None and wire.closed and "ssl.client.auth" in house.reasons[0]
    assert TlsWire(House(authority, client_auth=ssl.CERT_OPTIONAL), trusting(authority)).shake() is None


@for_each("client_auth", [ssl.CERT_OPTIONAL, ssl.CERT_REQUIRED])
@for_each("kind", ["foreign", "expired"])
def test_certificate_that_is_foreign_or_expired_is_refused(authority: Authority, client_auth: ssl.VerifyMode, kind: str) -> None:
    by = certificates.authority("somebody else") if kind == "foreign" else authority.ca
    certificate = authority.pair(kind, certificates.issued(by, "carla", ended=kind == "expired"))
    house = House(authority, client_auth=client_auth)
    wire = TlsWire(house, trusting(authority, certificate=certificate, version=ssl.TLSVersion.TLSv1_2))
    assert wire.shake() is not None and wire.closed and "client's certificate is not accepted" in house.reasons[0]


def test_name_that_no_rule_matches_is_closed_after_the_handshake(authority: Authority) -> None:
    house = House(authority, client_auth=ssl.CERT_REQUIRED, rules="RULE:CN=x(.*)/$1/")
    certificate = authority.files.client_certificate, authority.files.client_key
    wire = TlsWire(house, trusting(authority, certificate=certificate))
    wire.shake()
    assert wire.closed and house.reasons == ["no rule of ssl.principal.mapping.rules matches CN=carla"]


def test_renegotiation_is_closed(authority: Authority) -> None:
    house = House(authority)
    wire = TlsWire(house, trusting(authority, version=ssl.TLSVersion.TLSv1_2))
    wire.shake()
    wire.send(request(3, 9))
    wire.protocol.data_received(b"\x16\x03\x03\x00\x04abcd")
    assert wire.closed and house.reasons == ["the client began a TLS renegotiation, which is not supported"]


def test_end_of_the_stream_in_tls_ends_the_connection(authority: Authority) -> None:
    wire = TlsWire(House(authority), trusting(authority))
    wire.shake()
    with pytest.raises(ssl.SSLWantReadError):
        wire.tls.unwrap()  # type: ignore[union-attr]
    wire._pass_on()
    assert wire.closed


@for_each("plan, error, told", [
    ("certificate-expired", "CERTIFICATE_VERIFY_FAILED", "it has expired"),
    ("certificate-wrong-host", "CERTIFICATE_VERIFY_FAILED", "its names have to contain"),
    ("certificate-unknown-authority", "CERTIFICATE_VERIFY_FAILED", "does not trust this listener's certificate"),
])  # fmt: skip
def test_plan_shows_one_client_a_certificate_with_a_fault(authority: Authority, plan: str, error: str, told: str) -> None:
    house = House(authority)
    house.rig.command("add_faults", rules=[rule_as_data(each) for each in read_plan(plan).rule])
    outcomes = []
    for _ in range(3):
        wire = TlsWire(house, trusting(authority))
        outcomes.append(wire.shake())
        wire.connection.connection_lost(None)
    assert outcomes == [None, error, None]
    assert [told in reason for reason in house.reasons] == [False, True, False], house.reasons
    (fault,) = [row for row in house.rows.rows if isinstance(row, FaultRow)]
    assert (fault.rule, fault.action, fault.fields) == (plan, "show_certificate", {"certificate": fault.fields["certificate"]})


def test_certificate_is_right_again_after_the_rule_is_removed(authority: Authority) -> None:
    house = House(authority)

    def outcome() -> str | None:
        wire = TlsWire(house, trusting(authority))
        error = wire.shake()
        wire.connection.connection_lost(None)
        return error

    house.rig.command("add_faults", rules=[{"stage": "connect", "do": {"kind": "show_certificate", "certificate": "expired"}}])
    assert [outcome(), outcome()] == ["CERTIFICATE_VERIFY_FAILED"] * 2
    house.rig.command("clear_faults")
    assert outcome() is None
