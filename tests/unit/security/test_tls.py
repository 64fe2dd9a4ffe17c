"""TLS between a socket and a connection, without sockets (SEC-60 to SEC-67 of docs/kafka/security.md)."""

from __future__ import annotations

import ssl
from collections.abc import Callable

import pytest
from cases import for_each
from sasl_client import PASSWORD
from tls_client import Authority, House, TlsWire, trusting

from groupmock.faults.plan import read_plan, rule_as_data
from groupmock.journal.rows import FaultRow, NoteRow
from groupmock.net.tls import MOST_HANDSHAKE_BYTES, Handshakes
from groupmock.rig.wire import request
from groupmock.security import certificates
from groupmock.security.client_side import plain_token
from groupmock_codec.messages.k17_sasl_handshake import SaslHandshakeRequest
from groupmock_codec.messages.k36_sasl_authenticate import SaslAuthenticateRequest


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


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


def test_part_of_a_record_costs_no_tls_and_goes_on_with_the_rest(authority: Authority) -> None:
    wire = TlsWire(House(authority), trusting(authority))
    hello = wire.step()
    for place in range(0, len(hello) - 1, 100):
        wire.protocol.data_received(hello[place : min(place + 100, len(hello) - 1)])
        assert wire.protocol._tls is None and not wire.closed and not wire.raw
    wire.protocol.data_received(hello[-1:])
    assert wire.shake() is None


def test_of_too_many_handshakes_the_one_that_waited_longest_is_given_up(authority: Authority) -> None:
    house = House(authority)
    house.secured._handshakes = Handshakes(call_soon=lambda turn: turn(), most=2)
    wires = [TlsWire(house, trusting(authority)) for _ in range(4)]
    for wire in wires[:3]:
        wire.protocol.data_received(wire.step())
    assert [wire.closed for wire in wires] == [True, False, False, False]
    assert house.reasons == ["too many TLS handshakes: more than 2 are under way, and this one has waited longest for its client"]
    assert wires[1].shake() is None, "one that goes on ends"
    wires[3].protocol.data_received(wires[3].step())
    assert [wire.closed for wire in wires] == [True, False, False, False], "ended ones do not count"
    wires[2].protocol.connection_lost(None)
    assert wires[3].shake() is None


def test_handshakes_under_way_go_on_before_new_ones_begin(authority: Authority) -> None:
    turns: list[Callable[[], None]] = []
    house = House(authority, soon=turns.append)
    first, second = TlsWire(house, trusting(authority)), TlsWire(house, trusting(authority))
    first.protocol.data_received(first.step())
    turns.pop()()
    second.protocol.data_received(second.step())
    first.protocol.data_received(first.step())
    assert house.secured._handshakes is not None
    house.secured._handshakes._slice_ns = -1
    turns.pop()()
    assert (first.protocol._tls is not None, second.protocol._tls) == (True, None)


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
