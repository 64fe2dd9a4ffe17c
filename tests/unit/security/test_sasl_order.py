"""The order of an authentication, and what each deviation costs, as SEC-01 to SEC-24 of docs/kafka/security.md say."""

from __future__ import annotations

from cases import for_each
from sasl_client import PASSWORD, SaslClient, rig

from groupmock.journal.rows import CloseRow
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.wire import framed, request
from groupmock.security.client_side import plain_token
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k11_join_group import JoinGroupRequest
from groupmock_codec.messages.k17_sasl_handshake import SaslHandshakeRequest
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest
from groupmock_codec.messages.k36_sasl_authenticate import SaslAuthenticateRequest

MECHANISMS = ["PLAIN", "SCRAM-SHA-512", "SCRAM-SHA-256", "OAUTHBEARER"]
TOKEN = plain_token("alice", PASSWORD)
CLIENT = ApiVersionsRequest(client_software_name="rig", client_software_version="1")


@for_each("version", [0, 1])
def test_handshake_names_all_mechanisms_in_kafkas_order(version: int) -> None:
    answer = SaslClient(rig()).handshake("PLAIN", version)
    assert (answer.error_code, answer.mechanisms) == (0, MECHANISMS)


@for_each("version", [0, 1, 2])
def test_success_has_an_empty_text_and_no_session(version: int) -> None:
    client = SaslClient(rig())
    client.handshake()
    answer = client.token(TOKEN, version)
    assert (answer.error_code, answer.error_message, answer.auth_bytes, answer.session_lifetime_ms) == (0, "", b"", 0)
    assert client.serves


def test_handshake_token_and_request_may_come_at_once() -> None:
    client = SaslClient(rig())
    side = client.wire.side
    handshake, token = SaslHandshakeRequest(mechanism="PLAIN"), SaslAuthenticateRequest(auth_bytes=TOKEN)
    client.wire.send(side.ask(17, 1, handshake) + side.ask(36, 2, token) + side.ask(3, 9))
    assert [asked.read(frame)[0] for asked, frame in zip(list(side.pending), client.wire.take(), strict=True)] == [1, 2, 9]


def test_api_versions_are_told_once_before_the_handshake() -> None:
    client = SaslClient(rig())
    assert client.ask(18, 3, CLIENT).error_code == 0
    assert client.ask(18, 3, CLIENT) is None and client.wire.closed


def test_refused_api_versions_do_not_count() -> None:
    client = SaslClient(rig())
    assert [client.ask(18, 3, ApiVersionsRequest()).error_code for _ in range(3)] == [42, 42, 42]
    assert client.ask(18, 3, CLIENT).error_code == 0


def test_api_versions_after_the_handshake_are_refused_late() -> None:
    client = SaslClient(rig())
    client.handshake()
    assert client.ask(18, 3, CLIENT, late=True).error_code == 34 and client.wire.closed


@for_each("mechanism", ["GSSAPI", "plain", "", "SCRAM-SHA-1"])
@for_each("version", [0, 1])
def test_unknown_mechanism_is_refused_late_with_the_list(mechanism: str, version: int) -> None:
    client = SaslClient(rig())
    answer = client.handshake(mechanism, version, late=True)
    assert (answer.error_code, answer.mechanisms, client.wire.closed) == (33, MECHANISMS, True)


def test_second_handshake_instead_of_a_token_is_refused_late() -> None:
    client = SaslClient(rig())
    client.handshake()
    answer = client.handshake(late=True)
    assert (answer.error_code, answer.mechanisms, client.wire.closed) == (34, [], True)


@for_each("key", [3, 11, 36, 1, 0, 99, -1])
def test_other_first_request_closes_at_once(key: int) -> None:
    client = SaslClient(rig())
    client.wire.send(framed(key.to_bytes(2, "big", signed=True) + request(3, 0)[6:]))
    assert client.wire.closed and not client.wire.data


def test_other_request_instead_of_the_token_has_its_own_refusal() -> None:
    client = SaslClient(rig())
    client.handshake()
    answer = client.ask(3, 9, MetadataRequest(topics=[MetadataRequestTopic(name="orders"), MetadataRequestTopic(name="else")]), late=True)
    assert ([topic.error_code for topic in answer.topics], client.wire.closed) == ([34, 34], True)
    client = SaslClient(client.rig)
    client.handshake()
    assert client.ask(11, 5, JoinGroupRequest(group_id="kitchen"), late=True).error_code == 34 and client.wire.closed


@for_each("key, version", [(17, 2), (36, 3)])
def test_unknown_version_closes_at_once(key: int, version: int) -> None:
    client = SaslClient(rig())
    client.wire.send(framed(key.to_bytes(2, "big") + version.to_bytes(2, "big") + request(3, 0)[8:]))
    assert client.wire.closed and not client.wire.data


def test_later_handshake_and_token_are_refused_and_the_connection_goes_on() -> None:
    client = SaslClient(rig())
    client.plain()
    handshake, token = client.handshake(), client.token(TOKEN)
    assert (handshake.error_code, handshake.mechanisms) == (34, [])
    assert (token.error_code, token.error_message) == (34, "SaslAuthenticate request received after successful authentication")
    assert client.serves


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


def test_empty_frame_closes_at_once() -> None:
    client = SaslClient(rig())
    client.wire.send(framed(b""))
    assert client.wire.closed


def test_bare_tokens_follow_a_handshake_of_version_0() -> None:
    client = SaslClient(rig())
    client.handshake(version=0)
    assert client.bare(TOKEN) == [b""]
    assert client.serves


@for_each("token", [plain_token("alice", "wrong"), b"", request(36, 1, SaslAuthenticateRequest(auth_bytes=TOKEN))[4:]])
def test_failed_bare_token_closes_late_without_an_answer(token: bytes) -> None:
    client = SaslClient(rig())
    client.handshake(version=0)
    assert client.bare(token) == [] and not client.wire.closed
    client.rig.sleep(100)
    assert client.wire.closed and not client.wire.data


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
