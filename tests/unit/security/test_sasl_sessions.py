"""Sessions that end, and clients that authenticate themselves again (KIP-368; SEC-50 to SEC-59 of docs/kafka/security.md)."""

from __future__ import annotations

from cases import for_each
from sasl_client import PASSWORD, SaslClient, rig

from groupmock.journal.rows import AUTHENTICATED, NoteRow
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.making import EPOCH_MS
from groupmock.rig.wire import framed, request
from groupmock.security.client_side import bearer_token, plain_token, unsecured_token
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest

REAUTH = {"connections.max.reauth.ms": 1500}
TOKEN = plain_token("alice", PASSWORD)


def short_lived() -> SaslClient:
    """Return a client whose session lives for 1.5 s."""
    client = SaslClient(rig(**REAUTH))
    assert client.plain().session_lifetime_ms == 1500
    return client


@for_each("version, lifetime", [(0, 0), (1, 1500), (2, 1500)])
def test_last_answer_names_the_lifetime(version: int, lifetime: int) -> None:
    client = SaslClient(rig(**REAUTH))
    client.handshake()
    assert client.token(TOKEN, version).session_lifetime_ms == lifetime


@for_each("key, version", [(3, 9), (18, 0), (36, 2)])
def test_any_request_after_the_session_closes_at_once(key: int, version: int) -> None:
    client = short_lived()
    client.rig.sleep(1500)
    assert client.serves
    client.rig.sleep(1)
    client.wire.send(request(key, version, ApiVersionsRequest() if key == 18 else None))
    assert client.wire.closed and not client.wire.data


def test_idle_connection_outlives_its_session_and_may_authenticate_again() -> None:
    client = short_lived()
    client.rig.sleep(60_000)
    assert not client.wire.closed
    assert client.plain().session_lifetime_ms == 1500 and client.serves


def test_authenticating_again_prolongs_the_session() -> None:
    client = short_lived()
    for _ in range(5):
        client.rig.sleep(1200)
        assert client.plain().session_lifetime_ms == 1500 and client.serves


def test_second_reauthentication_within_a_second_is_refused_and_the_session_goes_on() -> None:
    client = short_lived()
    assert client.plain().error_code == 0, "the first may come at once"
    client.rig.sleep(999)
    assert client.handshake().error_code == 34 and client.token(TOKEN).error_code == 34 and client.serves
    client.rig.sleep(1)
    assert client.plain().error_code == 0


def test_reauthentication_as_somebody_else_fails() -> None:
    client = short_lived()
    client.handshake()
    answer = client.token(plain_token("bob", PASSWORD), late=True)
    assert (answer.error_code, answer.error_message) == (
        58, "Cannot change principals during re-authentication from User.alice: User.bob",
    )  # fmt: skip
    assert client.wire.closed


def test_reauthentication_with_a_wrong_password_fails() -> None:
    client = short_lived()
    client.handshake()
    answer = client.token(plain_token("alice", "wrong"), late=True)
    assert answer.error_message == "Authentication failed: Invalid username or password" and client.wire.closed


def test_other_mechanism_ends_the_reauthentication_without_an_answer() -> None:
    client = short_lived()
    assert client.handshake("SCRAM-SHA-256").error_code == 0
    assert client.token(b"n,,n=alice,r=abc", late=True) is None and client.wire.closed


def test_mechanism_that_is_not_enabled_closes_without_an_answer() -> None:
    client = short_lived()
    assert client.handshake("GSSAPI") is None and client.wire.closed


def test_other_request_between_handshake_and_token_is_refused() -> None:
    client = short_lived()
    client.handshake()
    assert client.ask(12, 4, HeartbeatRequest(group_id="kitchen"), late=True).error_code == 34 and client.wire.closed


def test_token_without_a_handshake_is_refused_and_the_session_goes_on() -> None:
    client = short_lived()
    assert client.token(TOKEN).error_code == 34 and client.serves


def test_client_of_bare_tokens_is_ended_too() -> None:
    client = SaslClient(rig(**REAUTH))
    client.handshake(version=0)
    assert client.bare(TOKEN) == [b""] and client.serves
    client.rig.sleep(1501)
    client.wire.send(request(3, 9))
    assert client.wire.closed


@for_each("lifetime, setting, told", [(60, 0, 60_000), (60, 1500, 1500), (1, 1500, 1000)])
def test_session_is_the_shorter_of_token_and_setting(lifetime: int, setting: int, told: int) -> None:
    client = SaslClient(rig(**{"connections.max.reauth.ms": setting}))
    client.handshake("OAUTHBEARER")
    answer = client.token(bearer_token(unsecured_token("olga", EPOCH_MS / 1000 + lifetime)))
    assert answer.session_lifetime_ms == told
    client.rig.sleep(told + 1)
    client.wire.send(request(3, 9))
    assert client.wire.closed


def test_repeated_heartbeats_end_with_the_session() -> None:
    client = short_lived()
    joined = client.ask(
        11, 3, JoinGroupRequest(
            group_id="kitchen", session_timeout_ms=60_000, rebalance_timeout_ms=60_000, protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        ),
    )  # fmt: skip
    client.rig.sleep(3000)
    assert joined is None
    answer = client.wire.side.pending.pop().read(client.wire.take()[0])[1]
    assert client.plain().error_code == 0, "who waited for a rebalance authenticates again"
    member = {"group_id": "kitchen", "generation_id": answer.generation_id, "member_id": answer.member_id}
    assert client.ask(14, 2, SyncGroupRequest(**member)).error_code == 0
    beat = HeartbeatRequest(**member)
    assert [client.ask(12, 2, beat).error_code for _ in range(3)] == [0, 0, 0]
    assert client.wire.connection.repeat is not None, "heartbeats are repeated without asking the core"
    client.rig.sleep(1501)
    assert client.ask(12, 2, beat) is None and client.wire.closed


def test_rows_name_who_authenticated_when_and_how() -> None:
    client = SaslClient(rig(**REAUTH))
    client.rig.journal.add(sink := KeptRows())
    client.plain()
    client.plain()
    rows = [row.fields for row in sink.rows if isinstance(row, NoteRow) and row.what == AUTHENTICATED]
    first = {"connection": client.wire.connection.number, "principal": "User:alice", "mechanism": "PLAIN", "session_ms": 1500}
    assert rows == [first, {**first, "again": True}]


def test_frame_in_pieces_is_read_as_a_token() -> None:
    client = SaslClient(rig())
    client.handshake(version=0)
    for byte in framed(TOKEN):
        client.wire.send(bytes([byte]))
    assert client.wire.take() == [b""] and client.serves
