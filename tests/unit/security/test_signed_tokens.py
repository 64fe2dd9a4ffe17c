"""Signed bearer tokens are checked as Kafka's broker checks them (SEC-44 to SEC-48 of docs/kafka/security.md)."""

from __future__ import annotations

import json
import os
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from cases import for_each
from joserfc import jwk, jws
from joserfc.errors import SecurityWarning
from joserfc.util import urlsafe_b64encode
from sasl_client import SaslClient, rig

from groupmock.security.oauthbearer import BadToken, Bearer, BreaksKafka
from groupmock.security.settings import SecuritySettings
from groupmock.security.signed_tokens import MOST_KEYS, MOST_TOKEN, BadKeySet, KeyFile, KeySet, check
from groupmock.security.token_issuer import TokenIssuer

NOW_S = 1_700_000_000
CLAIMS = {"sub": "olga", "exp": NOW_S + 600, "iat": NOW_S - 5}
DEFAULTS = SecuritySettings()
STRICT = SecuritySettings(
    sasl_oauthbearer_expected_audience="kafka, other",
    sasl_oauthbearer_expected_issuer="the issuer",
    sasl_oauthbearer_sub_claim_name="client_id",
    sasl_oauthbearer_scope_claim_name="scp",
    sasl_oauthbearer_clock_skew_seconds=0,
)
FOR_STRICT = {"client_id": "olga", "exp": NOW_S + 600, "iat": NOW_S - 5, "iss": "the issuer", "aud": "kafka"}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", SecurityWarning)
    KEYS: dict[str, Any] = {
        "rsa": jwk.RSAKey.generate_key(2048, {"kid": "rsa"}),
        "second": jwk.RSAKey.generate_key(2048, {"kid": "second", "alg": "RS256", "use": "sig"}),
        "short": jwk.RSAKey.generate_key(1024, {"kid": "short"}),
        "enc": jwk.RSAKey.generate_key(2048, {"kid": "enc", "use": "enc"}),
        "p256": jwk.ECKey.generate_key("P-256", {"kid": "p256"}),
        "p384": jwk.ECKey.generate_key("P-384", {"kid": "p384"}),
        "ed": jwk.OKPKey.generate_key("Ed25519", {"kid": "ed"}),
    }
LARGE = {"kty": "RSA", "kid": "large", "e": "AQAB", "n": urlsafe_b64encode(b"\xff" * 1025).decode()}
UNKNOWN = [{"kty": "new", "kid": "new"}, {"kty": "RSA", "kid": "half", "n": "AQ"}, "no key"]
DOCUMENT = {"keys": [*UNKNOWN, *(key.as_dict(private=False) for key in KEYS.values()), LARGE]}
SET = KeySet(json.dumps(DOCUMENT))


class Given:
    """A source that always has the same keys."""

    def now(self) -> KeySet:
        return SET


def signed(claims: Any = CLAIMS, key: str = "rsa", alg: str = "RS256", **header: Any) -> str:
    head = {name: value for name, value in {"alg": alg, "kid": key, **header}.items() if value is not None}
    body = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
    message = b".".join(map(urlsafe_b64encode, (json.dumps(head).encode(), body)))
    return (message + b"." + urlsafe_b64encode(jws.JWSRegistry.algorithms[alg].sign(message, KEYS[key]))).decode()


def checked(token: str, settings: SecuritySettings = DEFAULTS) -> Bearer:
    return check(token, NOW_S * 1000, Given(), settings)


@for_each(
    "token",
    [
        *(signed(alg=alg) for alg in ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")),
        signed(key="p256", alg="ES256"), signed(key="p384", alg="ES384"), signed(key="ed", alg="EdDSA"), signed(kid=None),
        signed(key="second", alg="PS256"),  # The algorithm of a key is looked at only if several keys fit.
        signed(key="p384", alg="ES384", kid=None), signed(crit=["b64"], b64=True), signed(typ="anything"),
    ],
)  # fmt: skip
def test_token_that_is_signed_by_a_key_of_the_set(token: str) -> None:
    assert checked(token) == Bearer("olga", (NOW_S + 600) * 1000)


@for_each(
    "token, text",
    [
        (signed(key="short"), "its RSA key has 1024 bits"), (signed(kid="large"), "its RSA key has 8200 bits"),
        (signed(key="enc"), "no RSA key named 'enc' that checks signatures"), (signed(kid="nobody"), "no RSA key named 'nobody'"),
        (signed(kid="p256"), "no RSA key named 'p256'"), (signed(kid="half"), "no RSA key named 'half'"),
        (signed(kid=7), "(kid) is no text"),
        (signed(key="second", kid=None), "its signature is wrong"), (signed(kid="second"), "its signature is wrong"),
        (signed(key="p256", alg="ES256", kid="p384"), "cannot be checked"), (signed()[:-8], "its signature is wrong"),
        (signed().replace(signed().split(".")[1], signed({**CLAIMS, "sub": "root"}).split(".")[1]), "its signature is wrong"),
        ("a.b", "three parts"), (signed() + ".x", "three parts"), (signed().rpartition(".")[0] + ".", "three parts"),
        (f"{urlsafe_b64encode(b'no').decode()}.e30.AAAA", "its header cannot be read"), (signed(b"[]"), "its claims is no JSON object"),
        (signed(json.dumps(CLAIMS)[:-1].encode() + b',"sub":"p"}'), "its claims cannot be read"),
        (signed(json.dumps(CLAIMS)[:-1].encode() + b',"x":NaN}'), "its claims cannot be read"),
        (signed(crit=["exp"]), "critical"), (signed(b64=False), "critical"), (signed(cty="JWT"), "nested"),
        (signed({**CLAIMS, "more": "x" * MOST_TOKEN}), f"more than {MOST_TOKEN} characters"),
        *((urlsafe_b64encode(json.dumps({"alg": alg, "kid": "rsa"}).encode()).decode() + ".e30.AAAA", f"(alg) is {alg!r}")
          for alg in ("none", "XX1", "ES256K", 7, None, ["RS256"])),
        (urlsafe_b64encode(b'{"alg":"HS256","kid":"rsa"}').decode() + ".e30.AAAA", "no oct key named 'rsa'"),
    ],
)  # fmt: skip
def test_token_that_no_key_of_the_set_confirms(token: str, text: str) -> None:
    with pytest.raises(BadToken, match=re.escape(text)):
        checked(token)


@for_each(
    "claims, text",
    [
        ({"sub": None}, "does not name its principal (sub)"), ({"sub": "  "}, "does not name its principal"),
        ({"sub": 7}, "sub is no text"),
        ({"iat": None}, "when it was issued"), ({"iat": "soon"}, "iat is no number"), ({"iat": True}, "iat is no number"),
        ({"iat": -1}, "before 1970"), ({"iat": 10**20}, "iat is too large"), ({"exp": None}, "when it ends"),
        ({"exp": NOW_S - 30, "iat": NOW_S - 90}, "it ended 30 s ago"), ({"exp": NOW_S - 10}, "before it was issued"),
        ({"nbf": NOW_S + 31}, "it begins in 31 s"), ({"nbf": NOW_S + 700}, "it ends (exp) before"), ({"nbf": "soon"}, "nbf is no number"),
        ({"aud": "kafka"}, "its audience (aud) is kafka and not absent"), ({"aud": 7}, "no text and no list of texts"),
        ({"iss": 7}, "iss is no text"), ({"jti": 7}, "jti is no text"), ({"scope": ""}, "one of its scopes"),
        ({"scope": ["a", " a"]}, "one of its scopes"), ({"scope": ["a", None]}, "one of its scopes"),
    ],
)  # fmt: skip
def test_claim_that_is_refused(claims: dict[str, Any], text: str) -> None:
    with pytest.raises(BadToken, match=re.escape(text)):
        checked(signed({**CLAIMS, **claims}))


@for_each(
    "claims",
    [
        {"iat": NOW_S + 300}, {"iat": NOW_S - 4.5}, {"exp": NOW_S - 29, "iat": NOW_S - 90}, {"nbf": NOW_S + 30}, {"iss": "x"}, {"jti": "x"},
        {"scope": "a b"}, {"scope": ["a", "b"]}, {"scope": []}, {"scope": 7}, {"scope": {"a": 1}},
    ],
)  # fmt: skip
def test_claim_that_is_accepted(claims: dict[str, Any]) -> None:
    assert checked(signed({**CLAIMS, **claims})).name == "olga"


@for_each("claims", [{"exp": 10**18}, {"exp": 1e30}, {"scope": ["a", 7]}, {"scope": [["a"]]}])
def test_claim_that_breaks_kafkas_check(claims: dict[str, Any]) -> None:
    with pytest.raises(BreaksKafka):
        checked(signed({**CLAIMS, **claims}))


@for_each(
    "claims, text",
    [
        ({}, ""), ({"aud": ["x", "other"]}, ""), ({"sub": "paul"}, ""), ({"scope": ["a", "a"]}, ""),
        ({"aud": None}, "it has no audience"), ({"aud": "Kafka"}, "Kafka and not kafka or other"), ({"aud": []}, "is empty and not"),
        ({"aud": ["kafka", 7]}, "no text and no list"), ({"iss": None}, "its issuer (iss) is None and not the issuer"),
        ({"iss": "x"}, "is x"),
        ({"client_id": None}, "principal (client_id)"), ({"client_id": 7}, "client_id) is no text"), ({"sub": 7}, "sub is no text"),
        ({"scp": ["a", "a"]}, "one of its scopes"), ({"exp": NOW_S}, "it ended 0 s ago"), ({"nbf": NOW_S + 1}, "it begins in 1 s"),
    ],
)  # fmt: skip
def test_settings_name_issuer_audience_and_claims(claims: dict[str, Any], text: str) -> None:
    token = signed({name: value for name, value in {**FOR_STRICT, **claims}.items() if value is not None})
    if not text:
        assert checked(token, STRICT).name == "olga"
        return
    with pytest.raises(BadToken, match=re.escape(text)):
        checked(token, STRICT)


def test_audience_may_be_left_unverified() -> None:
    settings = SecuritySettings(sasl_oauthbearer_allow_unverified_audience=True)
    assert checked(signed({**CLAIMS, "aud": 7}), settings).name == "olga"


@for_each(
    "text, why",
    [
        ("x", "not JSON"), ("[]", 'no list of "keys"'), ('{"keys": 1}', 'no list of "keys"'),
        (json.dumps({"keys": [{}] * (MOST_KEYS + 1)}), f"more than {MOST_KEYS} keys"),
    ],
)  # fmt: skip
def test_key_set_that_cannot_be_read(text: str, why: str) -> None:
    with pytest.raises(BadKeySet, match=why):
        KeySet(text)


def test_key_file_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    keys = KeyFile(str(file := tmp_path / "keys.json"))
    with pytest.raises(BadToken, match="the key set cannot be used: No such file"):
        check(signed(), NOW_S * 1000, keys, SecuritySettings())
    file.write_text('{"keys": []}')
    with pytest.raises(BadToken, match="no RSA key"):
        check(signed(), NOW_S * 1000, keys, SecuritySettings())
    file.write_text(json.dumps(DOCUMENT))
    os.utime(file, ns=(1, 1))
    assert check(signed(), NOW_S * 1000, keys, SecuritySettings()).name == "olga"


@for_each("settings", [SecuritySettings(), STRICT])
def test_issued_tokens_are_accepted_with_any_settings(settings: SecuritySettings) -> None:
    issuer = TokenIssuer()
    token = issuer.issue("olga", NOW_S, 60, "read", "here", settings)
    assert check(token, NOW_S * 1000, issuer, settings) == Bearer("olga", (NOW_S + 60) * 1000)
    with pytest.raises(BadToken, match="no EC key"):
        check(token, NOW_S * 1000, Given(), settings)
    with pytest.raises(BadToken, match="it ended 60 s ago"):
        check(issuer.issue("olga", NOW_S, -60, "", "here", settings), NOW_S * 1000, issuer, settings)


@for_each("mechanism, version", [("OAUTHBEARER", 1), ("SCRAM-SHA-256", 1), ("PLAIN", 0)])
def test_token_waits_for_its_turn_because_it_costs_much(mechanism: str, version: int) -> None:
    client = SaslClient(rig())
    connection = client.wire.connection
    client.handshake(mechanism, version)
    assert connection.slow
    client.token(b"garbage", late=True) if version else client.bare(b"a\0b\0c")
    assert SaslClient(rig()).plain().error_code == 0


def test_connection_takes_no_turns_once_it_is_authenticated() -> None:
    client = SaslClient(rig())
    client.plain()
    assert client.serves and not client.wire.connection.slow
