"""The token endpoint gives out tokens that the cluster accepts, as an OAuth 2.0 server does for `client_credentials` (RFC 6749)."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from cases import for_each

from groupmock import Broker, ConfigError
from groupmock.rig.wire import Client
from groupmock.security.client_settings import ClientSecurity
from groupmock.security.client_side import bearer_token
from groupmock.security.token_providers import token_of
from groupmock_codec.messages.k17_sasl_handshake import SaslHandshakeRequest
from groupmock_codec.messages.k36_sasl_authenticate import SaslAuthenticateRequest

LISTENERS = {"PLAIN": "PLAINTEXT://127.0.0.1:0", "SASL": "SASL_PLAINTEXT://127.0.0.1:0", "OTHER": "SASL_PLAINTEXT://127.0.0.1:0"}
USERS = {"alice": "open sesame", "näme": "a:b%c"}
GRANT = b"grant_type=client_credentials"
STRICT = {
    "listener.name.other.sasl.oauthbearer.expected.audience": "kafka",
    "listener.name.other.oauthbearer.sasl.oauthbearer.sub.claim.name": "id",
}


def signed(**options: Any) -> Broker:
    return Broker(**{"listeners": LISTENERS, "users": USERS, "oauth": "signed", "control": 0, **options})


def basic(text: str) -> dict[str, str]:
    return {"Authorization": f"Basic {b64encode(text.encode()).decode()}"}


def ask(broker: Broker, body: bytes = GRANT, headers: dict[str, str] | None = None, query: str = "") -> tuple[int, Any]:
    assert broker.control is not None
    try:
        with urlopen(Request(f"{broker.control}/v1/oauth/token{query}", body, headers or {})) as answer:
            return answer.status, json.load(answer)
    except HTTPError as refused:
        return refused.code, json.load(refused)


def authenticate(broker: Broker, token: str, listener: str = "SASL") -> Any:
    host, _, port = broker.security(listener).bootstrap.rpartition(":")
    with Client(host, int(port)) as client:
        client.ask(17, 1, SaslHandshakeRequest(mechanism="OAUTHBEARER"))
        return client.ask(36, 2, SaslAuthenticateRequest(auth_bytes=bearer_token(token)))


@for_each(
    "body, headers",
    [
        (GRANT, basic("alice:open sesame")), (GRANT + b"&scope=a+b", basic("alice:open%20sesame")), (GRANT, basic("näme:a:b%c")),
        (GRANT + b"&client_id=alice&client_secret=open+sesame", {}), (GRANT, basic("n%C3%A4me:a%3Ab%25c")),
    ],
)  # fmt: skip
def test_client_that_knows_its_secret_gets_a_token(body: bytes, headers: dict[str, str]) -> None:
    with signed() as broker:
        status, answer = ask(broker, body, headers)
        assert (status, answer["token_type"], answer["expires_in"]) == (200, "Bearer", 3600)
        accepted = authenticate(broker, answer["access_token"])
        assert (accepted.error_code, accepted.auth_bytes) == (0, b"") and 3_500_000 < accepted.session_lifetime_ms <= 3_600_000


@for_each(
    "body, headers, query, status, error",
    [
        (GRANT, basic("alice:wrong"), "", 401, "invalid_client"), (GRANT, basic("nobody:"), "", 401, "invalid_client"),
        (GRANT, {}, "", 401, "invalid_client"),
        (GRANT, {"Authorization": "Basic x"}, "", 401, "invalid_client"), (GRANT, {"Authorization": "Bearer x"}, "", 401, "invalid_client"),
        (b"", basic("alice:open sesame"), "", 400, "unsupported_grant_type"),
        (b"grant_type=password", {}, "", 400, "unsupported_grant_type"),
        (b"\xff", {}, "", 400, "invalid_request"), (GRANT + b"&" + GRANT, {}, "", 400, "invalid_request"),
        (b"&".join([b"a=b"] * 30), {}, "", 400, "invalid_request"),
        (GRANT, basic("alice:open sesame"), "?listener=PLAIN", 400, "invalid_request"),
    ],
)  # fmt: skip
def test_request_that_gets_no_token(body: bytes, headers: dict[str, str], query: str, status: int, error: str) -> None:
    with signed() as broker:
        code, answer = ask(broker, body, headers, query)
    assert (code, answer["error"]) == (status, error) and "sesame" not in str(answer)


def test_tokens_are_those_of_their_listener_and_last_as_long_as_asked() -> None:
    with signed(settings=STRICT) as broker:
        of_other = ask(broker, GRANT, basic("alice:open sesame"), "?listener=OTHER&expires_in=60")[1]["access_token"]
        accepted = authenticate(broker, of_other, "OTHER")
        assert not accepted.auth_bytes and 50_000 < accepted.session_lifetime_ms <= 60_000
        assert authenticate(broker, of_other).auth_bytes, "an audience that nobody expects"
        assert authenticate(broker, ask(broker, GRANT, basic("alice:open sesame"))[1]["access_token"], "OTHER").auth_bytes
        ended = ask(broker, GRANT, basic("alice:open sesame"), "?expires_in=-60")[1]["access_token"]
        assert authenticate(broker, ended).auth_bytes == b'{"status":"invalid_token"}'
        assert ask(broker, GRANT, basic("alice:open sesame"), "?expires_in=x")[0] == 400


def test_key_set_is_public_and_survives_a_reset() -> None:
    with signed(token="of-the-owner") as broker:
        with urlopen(f"{broker.control}/v1/oauth/keys") as answer:
            (key,) = json.load(answer)["keys"]
        assert key["kty"] == "EC" and "d" not in key
        token = ask(broker, GRANT, basic("alice:open sesame"))[1]["access_token"]
        broker.clear()
        assert not authenticate(broker, token).auth_bytes


def test_without_signed_tokens_there_is_no_endpoint() -> None:
    with signed(oauth=None) as broker:
        assert ask(broker)[0] == 404 and "--oauth signed" in ask(broker)[1]["error"]
        unsecured = broker.security("SASL", user="whoever", mechanism="OAUTHBEARER")
        assert not authenticate(broker, token_of(unsecured)).auth_bytes
    with signed(control=None) as broker, pytest.raises(ConfigError, match="add control=0"):
        broker.security("SASL", mechanism="OAUTHBEARER")


def test_anybody_gets_a_token_if_anybody_may_authenticate() -> None:
    with signed(sasl="any", users=None) as broker:
        token = ask(broker, GRANT, basic("whoever:whatever"))[1]["access_token"]
        assert not authenticate(broker, token).auth_bytes
        assert authenticate(broker, token_of(ClientSecurity(bootstrap="", protocol="SASL_PLAINTEXT", user="x"))).auth_bytes


@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")  # kafka-python reads its schemas by a deprecated function.
@for_each("library", ["aiokafka", "confluent_kafka", "java", "kafka_python"])
def test_client_settings_name_the_endpoint_and_the_client(library: str) -> None:
    with signed() as broker:
        security = broker.security("SASL", user="alice", mechanism="OAUTHBEARER")
        told = getattr(security, library)()
        assert security.token_endpoint == f"{broker.control}/v1/oauth/token?listener=SASL"
        assert "OAUTHBEARER" in told.values()
        assert "sasl_oauth_token_provider" in told or security.token_endpoint in told.values()
        assert not authenticate(broker, token_of(security)).auth_bytes


def test_no_token_and_no_secret_is_written(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with signed(journal=journal) as broker:
        token = ask(broker, GRANT, basic("alice:open sesame"))[1]["access_token"]
        authenticate(broker, token)
        authenticate(broker, token[:-4])
        written = f"{broker.story()}{journal.read_text()}"
    written += journal.read_text()
    assert token[-20:-4] not in written and token.split(".")[1] not in written and "sesame" not in written
    assert '"principal":"User:alice"' in written


def test_story_says_why_a_token_is_not_valid() -> None:
    with signed() as broker:
        ended = ask(broker, GRANT, basic("alice:open sesame"), "?expires_in=-90")[1]["access_token"]
        host, _, port = broker.security("SASL").bootstrap.rpartition(":")
        with Client(host, int(port)) as client:
            client.ask(17, 1, SaslHandshakeRequest(mechanism="OAUTHBEARER"))
            client.ask(36, 2, SaslAuthenticateRequest(auth_bytes=bearer_token(ended)))
            assert client.ask(36, 2, SaslAuthenticateRequest(auth_bytes=b"\x01")).error_code == 58
        assert "SASL authentication (OAUTHBEARER) failed: the token is not valid: it ended" in str(broker.story())


def test_key_set_in_a_file_is_needed_at_the_start(tmp_path: Path) -> None:
    from groupmock import CannotStart

    missing = {"sasl.oauthbearer.jwks.endpoint.url": f"file://{tmp_path}/keys.json"}
    with pytest.raises(CannotStart, match=r"cannot use the key set .*keys\.json .*No such file"):
        Broker(listeners=LISTENERS, users=USERS, settings=missing).start()
    (tmp_path / "keys.json").write_text('{"keys": []}')
    with Broker(listeners=LISTENERS, users=USERS, settings=missing) as broker, pytest.raises(ConfigError, match="signed by others"):
        broker.security("SASL", mechanism="OAUTHBEARER")
