"""The order of an authentication, and what each deviation costs, as SEC-01 to SEC-24 of docs/kafka/security.md say."""

from __future__ import annotations

from cases import for_each
from sasl_client import SaslClient, rig

from groupmock.journal.rows import CloseRow
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.wire import framed, request
from groupmock.security.client_side import plain_token
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k36_sasl_authenticate import SaslAuthenticateRequest


@for_each("key", [3, 11, 36, 1, 0, 99, -1])
def test_other_first_request_closes_at_once(key: int) -> None:
    client = SaslClient(rig())
    client.wire.send(framed(key.to_bytes(2, "big", signed=True) + request(3, 0)[6:]))
    assert client.wire.closed and not client.wire.data


def test_listener_without_sasl_serves_who_does_not_authenticate() -> None:
    on = rig()
    assert on.connect(listener="PLAIN").ask(3, 9, MetadataRequest(topics=None)).topics[0].name == "orders"


@for_each("length", [524_289, -1, 2**31 - 1])
def test_longer_frame_before_authentication_closes_late(length: int) -> None:
    client = SaslClient(rig())
    client.wire.send(length.to_bytes(4, "big", signed=True))
    client.rig.sleep(99)
    assert not client.wire.closed
    client.rig.sleep(1)
    assert client.wire.closed and not client.wire.data


def test_frame_of_any_length_is_read_after_authentication() -> None:
    client = SaslClient(rig())
    client.plain()
    client.wire.send((524_289).to_bytes(4, "big"))
    client.rig.sleep(1000)
    assert not client.wire.closed


def test_requests_behind_a_failed_token_are_not_handled() -> None:
    client = SaslClient(rig())
    sink = KeptRows()
    client.rig.journal.add(sink)
    client.handshake()
    side = client.wire.side
    client.wire.send(side.ask(36, 2, SaslAuthenticateRequest(auth_bytes=plain_token("alice", "no"))) + side.ask(3, 9))
    client.rig.sleep(100)
    assert len(client.wire.take()) == 1 and client.wire.closed
    (closed,) = [row for row in sink.rows if isinstance(row, CloseRow)]
    assert closed.reason == "SASL authentication (PLAIN) failed: user alice is unknown or has another password"


def test_client_that_leaves_in_the_pause_leaves_nothing_behind() -> None:
    client = SaslClient(rig())
    client.handshake()
    client.wire.send(client.wire.side.ask(36, 2, SaslAuthenticateRequest(auth_bytes=b"\0alice\0no")))
    client.wire.hang_up()
    client.rig.sleep(1000)
    assert not client.rig.driver.connections and not client.rig.driver.tickets and not client.rig.driver.counters.internal_errors


def test_fault_rule_lets_one_authentication_fail() -> None:
    on = rig()
    rule = {"name": "no", "when": {"api": "SaslAuthenticate", "nth": 2}, "do": {"kind": "error", "code": "SASL_AUTHENTICATION_FAILED"}}
    on.command("add_faults", rules=[rule], origin="here")
    assert [SaslClient(on).plain().error_code for _ in range(3)] == [0, 58, 0]
