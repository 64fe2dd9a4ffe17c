"""Dialogues of clients that authenticate, or fail to, have the same answers from groupmock as from Apache Kafka: bytes, codes, texts, what
is closed, and what comes only after the pause of a failed authentication.

It needs java and the shared folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from sasl_dialogues import Dialogue, Talk, bearer, differences, played

from groupmock import Broker
from groupmock.rig.wire import Client, framed, request
from groupmock.security.client_side import ScramClient, bearer_token, plain_token, unsecured_token
from groupmock.security.scram import NAMES, salted
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k17_sasl_handshake import SaslHandshakeRequest
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest
from groupmock_codec.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from groupmock_codec.messages.k51_alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from tools.oracle import kafka_with_listeners

RELEASES = {"4.4.0": "kafka-4.4", "4.3.0": "kafka-4.3", "3.9.1": "kafka-3.9"}
PASSWORD = "open sesame"
CLIENT = ApiVersionsRequest(client_software_name="rig", client_software_version="1")
TOKEN = plain_token("alice", PASSWORD)
NONCE = "fyko+d2lbbFgONRv9qkxdawL"
JAAS = {
    "plain": f'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="{PASSWORD}" user_bob="{PASSWORD}";',
    "scram-sha-256": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    "scram-sha-512": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    "oauthbearer": 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="x";',
}
LISTENERS = {"SASL": "SASL_PLAINTEXT", "SHORT": "SASL_PLAINTEXT"}


def outcome(answer: Any) -> Any:
    """Return what an answer to a token says. Of SCRAM's first answer the bytes are drawn."""
    return answer.error_code, answer.error_message, b"" if b"r=" in answer.auth_bytes else answer.auth_bytes


def error_or_brokers(answer: Any) -> Any:
    return str(answer) if hasattr(answer, "brokers") else getattr(answer, "error_code", None)


def plain(token: bytes, version: int = 2) -> Callable[[Talk], None]:
    def play(talk: Talk) -> None:
        talk.handshake()
        talk.token(token, version)
        talk.end()

    return play


def scram(mechanism: int, user: str, password: str, change: Callable[[bytes], bytes] = bytes, bare: bool = False) -> Callable[[Talk], None]:
    def play(talk: Talk) -> None:
        client = ScramClient(mechanism, user, password, NONCE)
        talk.handshake(NAMES[mechanism], 0 if bare else 1)
        if bare:
            answer = talk.raw(framed(client.first()), note=False)
            if answer is not None:
                last = talk.raw(framed(change(client.final(answer))), note=False)
                talk.said.append(last is not None and last[:2])
        else:
            first = talk.token(client.first(), shown=lambda each: (each.error_code, each.error_message, each.session_lifetime_ms))
            if first is not None and not first.error_code:
                last = talk.token(change(client.final(first.auth_bytes)), shown=lambda each: (each.error_code, each.error_message))
                talk.said.append(last and last.auth_bytes[:2])
        talk.end()

    return play


def first(mechanism: str, *tokens: bytes) -> Callable[[Talk], None]:
    """Send these tokens after a handshake, and note everything."""

    def play(talk: Talk) -> None:
        talk.handshake(mechanism)
        for token in tokens:
            talk.token(
                token, shown=outcome
            )
        talk.end()

    return play


def asked(*steps: tuple[int, int, Any]) -> Callable[[Talk], None]:
    def play(talk: Talk) -> None:
        for key, version, message in steps:
            talk.ask(
                key, version, message, error_or_brokers
            )
        talk.end()

    return play


def in_raw(*pieces: bytes) -> Callable[[Talk], None]:
    def play(talk: Talk) -> None:
        for piece in pieces:
            talk.raw(piece)

    return play


def again(*, wait: float = 0.0, mechanism: str = "PLAIN", token: bytes = TOKEN, twice: bool = False) -> Callable[[Talk], None]:
    """Authenticate, wait, and authenticate again."""

    def play(talk: Talk) -> None:
        talk.handshake()
        talk.token(TOKEN)
        time.sleep(wait)  # The session's end is Kafka's own clock.
        for _ in range(2 if twice else 1):
            talk.handshake(mechanism)
            talk.token(token)
        talk.end()

    return play


def past_the_session(talk: Talk) -> None:
    talk.handshake()
    talk.token(TOKEN)
    time.sleep(1.7)  # The session's end is Kafka's own clock.
    talk.end()


NOW = time.time()
GOOD = unsecured_token("olga", NOW + 3600)
HANDSHAKE = (17, 1, SaslHandshakeRequest(mechanism="PLAIN"))
AUTHENTICATE = (36, 2, SaslAuthenticateRequest(auth_bytes=TOKEN))
METADATA = (3, 9, MetadataRequest(topics=[MetadataRequestTopic(name="nowhere")]))
DIALOGUES = [
    *[Dialogue(f"plain success v{version}", plain(TOKEN, version)) for version in (0, 1, 2)],
    *[
        Dialogue(f"plain {name}", plain(token))
        for name, token in {
            "wrong password": plain_token("alice", "no"), "unknown user": plain_token("zoe", PASSWORD), "no user": plain_token("", "x"),
            "no password": plain_token("alice", ""), "own authzid": plain_token("alice", PASSWORD, "alice"),
            "other authzid": plain_token("alice", PASSWORD, "bob"), "empty": b"", "two parts": b"a\0b", "five parts": b"\0a\0b\0c\0d",
            "bad bytes": b"\0\xff\xfe\0\xff", "wrong and other authzid": plain_token("alice", "no", "bob"),
        }.items()
    ],
    *[
        Dialogue(f"scram {mechanism} {name}", scram(mechanism, user, password, change, bare))
        for mechanism in (1, 2)
        for name, user, password, change, bare in (
            ("success", "sam", PASSWORD, bytes, False), ("bare success", "sam", PASSWORD, bytes, True),
            ("unknown user", "zoe", PASSWORD, bytes, False), ("wrong password", "sam", "no", bytes, False),
            ("bare wrong password", "sam", "no", bytes, True),
            ("other nonce", "sam", PASSWORD, lambda data: data.replace(b"r=", b"r=x"), False),
            ("garbage in the final message", "sam", PASSWORD, lambda _: b"garbage", False),
            ("short proof", "sam", PASSWORD, lambda data: data[: data.index(b",p=")] + b",p=AAAA", False),
            ("no proof", "sam", PASSWORD, lambda data: data[: data.index(b",p=")] + b",p=", False),
            ("extension", "sam", PASSWORD, lambda data: data.replace(b",p=", b",x=1,p="), False),
        )
    ],
    *[
        Dialogue(f"scram first message {text!r}", first("SCRAM-SHA-256", text))
        for text in (
            b"", b"garbage", b"y,,n=sam,r=abc", b"p=tls-unique,,n=sam,r=abc", b"n,,n=sam", b"n,,n=sa=m,r=abc", b"n,a=bob,n=sam,r=abc",
            b"n,a=sam,n=sam,r=abc", b"n,,n=sam,r=abc,tokenauth=true", b"n,,n=sam,r=abc,other=1", b"n,,m=x,n=sam,r=abc",
            b"n,a=bob,n=zoe,r=abc", b"n,,n=\xc3\xa4,r=abc",
        )
    ],
    *[
        Dialogue(f"bearer {name}", bearer(token, b"\x01"))
        for name, token in {
            "expired": unsecured_token("olga", NOW - 10), "no sub": unsecured_token("", NOW + 3600),
            "issued later": unsecured_token("o", NOW + 3600, iat=NOW + 3000),
            "no jws": "abc", "two parts": "abc.def", "signature": GOOD + "abc", "exp as text": unsecured_token("olga", 0, exp="soon"),
        }.items()
    ],
    Dialogue("bearer success", bearer(GOOD)),
    Dialogue("bearer that ends after the last nanosecond", bearer(unsecured_token("olga", 10**15))),
    Dialogue("bearer not before", bearer(unsecured_token("olga", NOW + 3600, nbf=NOW + 500))),
    Dialogue("bearer other authzid", bearer(GOOD, authorization="paul")),
    Dialogue("bearer own authzid", bearer(GOOD, authorization="olga")),
    Dialogue("bearer other answer to the challenge", bearer("abc", b"x")),
    Dialogue("bearer good token after the challenge", bearer("abc", bearer_token(GOOD))),
    *[
        Dialogue(f"bearer message {text!r}", first("OAUTHBEARER", text))
        for text in (
            b"", b"\x01", b"garbage", b"n,,\x01auth=Bearer\x01\x01", b"n,,\x01x1=y\x01\x01", b"n,,\x01other=y\x01\x01",
            b"n,,\x01auth=Basic abc\x01\x01", b"n,,\x01auth=Bearer " + GOOD.encode() + b"\x01extra=1\x01\x01",
            b"n,,\x01auth=Bearer " + GOOD.encode() + b"\x01auth=Bearer x\x01\x01", b"n,,\x01auth=bearer " + GOOD.encode() + b"\x01\x01",
        )
    ],
    *[Dialogue(f"handshake {name!r} v{version}", lambda talk, n=name, v=version: talk.handshake(n, v) and talk.end())  # type: ignore[misc]
      for name in ("GSSAPI", "plain", "", "SCRAM-SHA-1") for version in (0, 1)],
    Dialogue("versions once", asked((18, 3, CLIENT), HANDSHAKE, AUTHENTICATE)),
    Dialogue("versions twice", asked((18, 3, CLIENT), (18, 3, CLIENT))),
    Dialogue("refused versions", asked((18, 3, ApiVersionsRequest()), (18, 3, ApiVersionsRequest()), (18, 3, CLIENT), HANDSHAKE)),
    Dialogue("versions after the handshake", asked(HANDSHAKE, (18, 3, CLIENT))),
    Dialogue("two handshakes", asked(HANDSHAKE, HANDSHAKE)),
    Dialogue("metadata first", asked(METADATA)),
    Dialogue("token first", asked(AUTHENTICATE)),
    Dialogue("metadata instead of the token", asked(HANDSHAKE, METADATA)),
    Dialogue("heartbeat instead of the token", asked(HANDSHAKE, (12, 4, HeartbeatRequest(group_id="kitchen")))),
    Dialogue("handshake and token afterwards", asked(HANDSHAKE, AUTHENTICATE, HANDSHAKE, AUTHENTICATE)),
    Dialogue("handshake of a later version", in_raw(framed(bytes.fromhex("0011000200000007ffff")))),
    Dialogue("token of a later version", in_raw(request(*HANDSHAKE), framed(bytes.fromhex("0024000300000007ffff00")))),
    Dialogue("frame above the limit", in_raw((524_289).to_bytes(4, "big"))),
    Dialogue("negative frame", in_raw(b"\xff\xff\xff\xff")),
    Dialogue("empty frame", in_raw(bytes(4))),
    Dialogue("bare token", in_raw(request(17, 0, SaslHandshakeRequest(mechanism="PLAIN")), framed(TOKEN), request(*HANDSHAKE))),
    Dialogue("bare wrong token", in_raw(request(17, 0, SaslHandshakeRequest(mechanism="PLAIN")), framed(b"\0a\0b"))),
    Dialogue("request as bare token", in_raw(request(17, 0, SaslHandshakeRequest(mechanism="PLAIN")), request(*AUTHENTICATE))),
    Dialogue("handshake twice with bare tokens", in_raw(request(17, 0, SaslHandshakeRequest(mechanism="PLAIN")), request(*HANDSHAKE))),
    Dialogue("TLS hello", in_raw(bytes.fromhex("16030100c8010000c40303") + bytes(80))),
    Dialogue("HTTP request", in_raw(b"GET / HTTP/1.1\r\n\r\n")),
    Dialogue("authenticate again at once", again(), "SHORT"),
    Dialogue("authenticate again twice", again(twice=True), "SHORT"),
    Dialogue("authenticate again after the end", again(wait=1.7), "SHORT"),
    Dialogue("authenticate again as somebody else", again(token=plain_token("bob", PASSWORD)), "SHORT"),
    Dialogue("authenticate again with a wrong password", again(token=plain_token("alice", "no")), "SHORT"),
    Dialogue("authenticate again by another mechanism", again(mechanism="SCRAM-SHA-256", token=b"n,,n=sam,r=abc"), "SHORT"),
    Dialogue("authenticate again by no mechanism", again(mechanism="GSSAPI"), "SHORT"),
    Dialogue("past the session", past_the_session, "SHORT"),
]  # fmt: skip


def add_sam(bootstrap: str) -> None:
    """Give user sam credentials for both mechanisms of SCRAM."""
    host, _, port = bootstrap.rpartition(":")
    for mechanism in NAMES:
        secret = salted(mechanism, PASSWORD, b"pepper", 4096)
        upsertion = ScramCredentialUpsertion(name="sam", mechanism=mechanism, iterations=4096, salt=b"pepper", salted_password=secret)
        with Client(host, int(port), seconds=30) as client:
            (result,) = client.ask(51, 0, AlterUserScramCredentialsRequest(upsertions=[upsertion])).results
        assert result.error_code == 0, result
    time.sleep(1)  # Kafka's brokers apply the record some milliseconds later, and no request says when.


@pytest.mark.parametrize("version", list(RELEASES))
def test_dialogues_have_kafkas_answers(version: str) -> None:
    settings = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        **{f"listener.name.{name.lower()}.{mechanism}.sasl.jaas.config": jaas for name in LISTENERS for mechanism, jaas in JAAS.items()},
        "listener.name.short.connections.max.reauth.ms": 1500,
    }
    with kafka_with_listeners(version, settings, LISTENERS) as addresses:
        add_sam(addresses["PLAINTEXT"])
        theirs = dict(played(DIALOGUES, addresses))
    users = {"alice": PASSWORD, "bob": PASSWORD}
    ours: dict[str, list[Any]] = {}
    for name, setting in (("SASL", 0), ("SHORT", 1500)):
        listeners = {"PLAIN": "PLAINTEXT://127.0.0.1:0", name: "SASL_PLAINTEXT://127.0.0.1:0"}
        with Broker(listeners=listeners, users=users, profile=RELEASES[version], settings={"connections.max.reauth.ms": setting}) as broker:
            add_sam(broker.bootstrap)
            addresses = {name: broker.security(name).bootstrap}
            ours |= dict(played(DIALOGUES, addresses))
    assert not (wrong := differences(theirs, ours)), wrong
