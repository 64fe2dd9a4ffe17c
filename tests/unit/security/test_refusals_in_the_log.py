"""A client that TLS or SASL refuses costs one sentence in the log and no memory, however often it comes again."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from itertools import count
from typing import Any, Final

import pytest
from cases import for_each
from sasl_client import SaslClient, rig
from tls_client import Authority, House, TlsWire, trusting

from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.wire import request
from groupmock.security.client_side import plain_token
from groupmock.watch.shortened import Shortened

NAMES: Final = count()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


class Log:
    """Counts the lines of the log of a rig."""

    def __init__(self, on: Any, rows: KeptRows) -> None:
        self.rig, self.rows = on, rows

    def lines(self) -> list[str]:
        made = Shortened()
        return [line.text for row in self.rows.rows for line in made.tell(row)]

    def nothing_is_left(self) -> bool:
        driver = self.rig.driver
        return not (driver.connections or driver.tickets or driver.counters.held_bytes or driver.counters.internal_errors)


def sasl() -> tuple[Log, SaslClient]:
    on, rows = rig(), KeptRows()
    on.journal.add(rows)
    return Log(on, rows), SaslClient(on)


def wrong_password(client: SaslClient) -> None:
    client.handshake()
    client.token(plain_token("alice", "wrong"), late=True)


SASL: Final[dict[str, tuple[Callable[[SaslClient], object], str]]] = {
    "a request before the authentication": (lambda client: client.ask(3, 9), "a request before the SASL handshake"),
    "an unknown mechanism": (lambda client: client.handshake("GSSAPI", late=True), "SASL mechanism 'GSSAPI' is not enabled: PLAIN, SCRAM"),
    "a wrong password": (wrong_password, "SASL authentication (PLAIN) failed: user alice is unknown or has another password"),
    "a token of 1 MB": (
        lambda client: client.wire.send((1 << 20).to_bytes(4, "big")),
        "frame length 1048576 is outside 0..524288 (sasl.server.max.receive.size)",
    ),
    "TLS": (lambda client: client.wire.send(bytes.fromhex("160301020001")), "a TLS hello instead of a request"),
}


@for_each("what", SASL)
def test_refusal_of_sasl_is_one_sentence_which_is_not_repeated_each_time(what: str) -> None:
    act, told = SASL[what]
    log, client = sasl()
    for times in range(1, 13):
        act(client)
        log.rig.sleep(100)
        assert client.wire.closed
        client.wire.hang_up()
        assert log.nothing_is_left()
        assert len(log.lines()) == (1 if times < 10 else 2), log.lines()
        client = SaslClient(log.rig)
    assert told in log.lines()[0] and log.lines()[1].endswith("(10 times so far)")


def test_names_that_change_each_time_are_told_at_most_a_hundred_times() -> None:
    log, client = sasl()
    for number in range(300):
        client.handshake(f"M{number}")
        log.rig.sleep(100)
        client = SaslClient(log.rig)
    assert len(log.lines()) == 100 + 3, "each of the first hundred, and the first, tenth and hundredth of the others"


def test_name_of_half_a_megabyte_is_told_in_short() -> None:
    log, client = sasl()
    client.handshake()
    client.token(plain_token("a" * 500_000, "wrong"), late=True)
    (line,) = log.lines()
    assert "user aaaa" in line and len(line) < 400
    client = SaslClient(log.rig)
    client.handshake("M" * 32_000, late=True)
    assert len(log.lines()[1]) < 600


def renegotiates(house: House, authority: Authority) -> TlsWire:
    wire = TlsWire(house, trusting(authority, version=ssl.TLSVersion.TLSv1_2))
    assert wire.shake() is None
    wire.protocol.data_received(b"\x16\x03\x03\x00\x01\x00")
    return wire


def plain_bytes(house: House, authority: Authority) -> TlsWire:
    wire = TlsWire(house, None)
    wire.protocol.data_received(request(18, 3))
    return wire


def untrusted(house: House, authority: Authority) -> TlsWire:
    wire = TlsWire(house, trusting(Authority(authority.folder / f"other-{next(NAMES)}")))
    assert wire.shake() is not None
    return wire


TLS: Final[dict[str, tuple[Callable[[House, Authority], TlsWire], str]]] = {
    "plain bytes": (plain_bytes, "plain bytes instead of a TLS handshake"),
    "a renegotiation": (renegotiates, "the client began a TLS renegotiation"),
    "a client that trusts somebody else": (untrusted, "the client does not trust this listener's certificate"),
}


@for_each("what", TLS)
def test_refusal_of_tls_is_one_sentence_which_is_not_repeated_each_time(authority: Authority, what: str) -> None:
    act, told = TLS[what]
    house = House(authority)
    log = Log(house.rig, house.rows)
    for times in range(1, 13):
        wire = act(house, authority)
        assert wire.closed
        wire.connection.connection_lost(None)
        assert log.nothing_is_left() and not wire.protocol._received
        assert len(log.lines()) == (1 if times < 10 else 2), log.lines()
    assert told in log.lines()[0]


def test_half_a_handshake_is_no_line_and_waits_without_tls(authority: Authority) -> None:
    house = House(authority)
    wire = TlsWire(house, trusting(authority))
    wire.protocol.data_received(wire.step()[:200])
    assert not wire.closed and wire.protocol._tls is None and len(wire.protocol._received) == 200
    wire.protocol.connection_lost(None)
    log = Log(house.rig, house.rows)
    assert log.lines() == [] and log.nothing_is_left()
