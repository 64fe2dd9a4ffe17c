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

REAUTH = {"connections.max.reauth.ms": 1500}
TOKEN = plain_token("alice", PASSWORD)


def short_lived() -> SaslClient:
    """Return a client whose session lives for 1.5 s."""
    client = SaslClient(rig(**REAUTH))
    assert client.plain().session_lifetime_ms == 1500
    return client


def test_authenticating_again_prolongs_the_session() -> None:
    client = short_lived()
    for _ in range(5):
        client.rig.sleep(1200)
        assert client.plain().session_lifetime_ms == 1500 and client.serves


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
