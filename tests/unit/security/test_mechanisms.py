"""Each mechanism accepts and refuses what Kafka's does, with its texts (SEC-10 to SEC-13, SEC-31 to SEC-43 of docs/kafka/security.md)."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode, urlsafe_b64encode
from typing import Any

from cases import for_each
from sasl_client import PASSWORD, SaslClient, rig

from groupmock.journal.rows import CloseRow
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.making import EPOCH_MS
from groupmock.security.authenticator import LONGEST_NAME
from groupmock.security.client_side import ScramClient, bearer_token, plain_token, unsecured_token
from groupmock.security.scram import NUMBERS, salted
from groupmock_codec.messages.k51_alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)

SCRAMS = [*NUMBERS]
NOW_S = EPOCH_MS / 1000
NONCE = "fyko+d2lbbFgONRv9qkxdawL"


def generic(mechanism: str) -> str:
    return f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"


@for_each("mechanism", SCRAMS)
def test_scram_proves_both_sides(mechanism: str) -> None:
    client = SaslClient(rig())
    assert client.scram(mechanism).error_code == 0 and client.serves


@for_each("change", [lambda data: data.replace(b"r=", b"r=x"), lambda data: data[:-6] + b"AAAAA=", lambda _: b"garbage", lambda _: b""])
def test_scram_fails_on_the_final_token(change: Any) -> None:
    client = SaslClient(rig())
    client.handshake("SCRAM-SHA-256")
    scram = ScramClient(1, "alice", PASSWORD, NONCE)
    answer = client.token(change(scram.final(client.token(scram.first()).auth_bytes)), late=True)
    assert (answer.error_code, answer.error_message, client.wire.closed) == (58, generic("SCRAM-SHA-256"), True)


@for_each("proof", [b"", b"AAAA", b"A" * 88])
def test_proof_of_another_length_closes_at_once(proof: bytes) -> None:
    client = SaslClient(rig())
    client.handshake("SCRAM-SHA-256")
    scram = ScramClient(1, "alice", PASSWORD, NONCE)
    final = scram.final(client.token(scram.first()).auth_bytes)
    assert client.token(final.partition(b",p=")[0] + b",p=" + proof) is None and client.wire.closed


def test_credentials_of_the_admin_api_authenticate() -> None:
    on = rig()
    name = "odd=na,me"
    salt = b"pepper"
    upsertion = ScramCredentialUpsertion(name=name, mechanism=1, iterations=5000, salt=salt, salted_password=salted(1, "hers", salt, 5000))
    admin = on.connect(listener="PLAIN")
    (result,) = admin.ask(51, 0, AlterUserScramCredentialsRequest(upsertions=[upsertion])).results
    assert result.error_code == 0
    client = SaslClient(on)
    assert client.scram("SCRAM-SHA-256", name, "hers").error_code == 0
    (result,) = admin.ask(51, 0, AlterUserScramCredentialsRequest(deletions=[ScramCredentialDeletion(name=name, mechanism=1)])).results
    assert result.error_code == 0
    assert client.serves, "a credential that is gone does not touch connections"
    later = SaslClient(on)
    later.handshake("SCRAM-SHA-256")
    assert later.token(ScramClient(1, name, "hers", NONCE).first(), late=True).error_code == 58


def test_bearer_token_names_the_principal_and_the_end_of_the_session() -> None:
    client = SaslClient(rig())
    client.handshake("OAUTHBEARER")
    answer = client.token(bearer_token(unsecured_token("olga", NOW_S + 60)))
    assert (answer.error_code, answer.error_message, answer.auth_bytes, answer.session_lifetime_ms) == (0, "", b"", 60_000)
    assert client.wire.connection.principal == "User:olga"


def unsigned(claims: object, header: object = None, signature: str = "") -> str:
    parts = [{"alg": "none"} if header is None else header, claims]
    return ".".join([*(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), signature])


GOOD = {"sub": "olga", "exp": NOW_S + 60}


@for_each(
    "token",
    [
        unsecured_token("olga", NOW_S - 1), unsigned({"exp": NOW_S + 60}), unsigned({"sub": "olga"}), unsigned(GOOD, {"alg": "RS256"}),
        unsigned(GOOD, signature="abc"), unsigned({**GOOD, "iat": NOW_S + 60}), "no-token", unsigned([]), unsigned({**GOOD, "exp": 1e999}),
        unsigned({**GOOD, "exp": "soon"}), unsigned({**GOOD, "sub": 7}),
    ],
)  # fmt: skip
def test_bad_bearer_token_is_challenged_at_once_and_refused_after_the_clients_answer(token: str) -> None:
    client = SaslClient(rig())
    client.handshake("OAUTHBEARER")
    answer = client.token(bearer_token(token))
    assert (answer.error_code, answer.auth_bytes, answer.session_lifetime_ms) == (0, b'{"status":"invalid_token"}', 0)
    answer = client.token(b"\x01", late=True)
    assert (answer.error_code, answer.error_message, client.wire.closed) == (58, '{"status":"invalid_token"}', True)


def test_token_after_the_challenge_is_looked_at_anew() -> None:
    client = SaslClient(rig())
    client.handshake("OAUTHBEARER")
    client.token(bearer_token("no-token"))
    assert client.token(bearer_token(unsecured_token("olga", NOW_S + 60))).error_code == 0 and client.serves
    client = SaslClient(rig())
    client.handshake("OAUTHBEARER")
    client.token(bearer_token("no-token"))
    assert client.token(b"x", late=True).error_message == generic("OAUTHBEARER")


def test_last_of_several_bearer_tokens_counts() -> None:
    client = SaslClient(rig())
    client.handshake("OAUTHBEARER")
    good = unsecured_token("olga", NOW_S + 60)
    assert client.token(f"n,,\x01auth=Bearer bad\x01auth=Bearer {good}\x01\x01".encode()).error_code == 0


@for_each("token", [unsigned({**GOOD, "nbf": NOW_S + 60}), unsigned({**GOOD, "scope": ["a"]}), unsigned({**GOOD, "scope": "a b"})])
def test_bearer_claims_that_nobody_looks_at(token: str) -> None:
    client = SaslClient(rig())
    client.handshake("OAUTHBEARER")
    assert client.token(bearer_token(token)).error_code == 0


def test_anybody_is_accepted_if_asked_for() -> None:
    on = rig(any_user=True)
    client = SaslClient(on)
    assert client.plain("whoever", "whatever").error_code == 0 and client.wire.connection.principal == "User:whoever"
    client = SaslClient(on)
    client.handshake("OAUTHBEARER")
    assert client.token(bearer_token("opaque")).error_code == 0 and client.wire.connection.principal == "User:token"
    client = SaslClient(on)
    client.handshake("OAUTHBEARER")
    assert client.token(bearer_token(unsecured_token("olga", NOW_S - 5))).session_lifetime_ms == 0
    client = SaslClient(on)
    client.handshake("SCRAM-SHA-256")
    client.rig.journal.add(sink := KeptRows())
    assert client.token(ScramClient(1, "whoever", "whatever", NONCE).first(), late=True).error_code == 58
    (closed,) = [row.reason for row in sink.rows if isinstance(row, CloseRow)]
    assert closed.endswith("name the user with --user")


def test_long_name_of_anybody_is_refused() -> None:
    on = rig(any_user=True)
    assert SaslClient(on).plain("x" * LONGEST_NAME).error_code == 0
    on.journal.add(sink := KeptRows())
    tokens = {"PLAIN": plain_token("x" * 500_000, "any"), "OAUTHBEARER": bearer_token(unsigned({"sub": "x" * 99_000}))}
    for mechanism, token in tokens.items():
        client = SaslClient(on)
        client.handshake(mechanism)
        answer = client.token(token, late=True)
        assert (answer.error_code, answer.error_message, client.wire.closed) == (58, generic(mechanism), True)
    bare = SaslClient(on)
    bare.handshake(version=0)
    assert bare.bare(plain_token("x" * 500_000, "any")) == []
    on.sleep(100)
    assert bare.wire.closed
    reasons = [row.reason for row in sink.rows if isinstance(row, CloseRow)]
    assert ["characters, more than the 1024 that are kept" in reason for reason in reasons] == [True] * 3
    assert max(len(row.reason) for row in sink.rows if isinstance(row, CloseRow)) < 300


def test_proof_is_one_bit_exact() -> None:
    client = SaslClient(rig())
    client.handshake("SCRAM-SHA-256")
    scram = ScramClient(1, "alice", PASSWORD, NONCE)
    final = scram.final(client.token(scram.first()).auth_bytes)
    head, _, proof = final.rpartition(b"p=")
    flipped = bytearray(b64decode(proof))
    flipped[0] ^= 1
    assert client.token(head + b"p=" + b64encode(flipped), late=True).error_code == 58
