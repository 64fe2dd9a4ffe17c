"""Signed bearer tokens are accepted and refused as by Apache Kafka's OAuthBearerValidatorCallbackHandler with a key set in a file.

It needs java and the shared folder.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwk, jws
from joserfc.errors import SecurityWarning
from joserfc.util import urlsafe_b64encode
from sasl_dialogues import Dialogue, Talk, bearer, differences, played

from groupmock import Broker
from groupmock.security.client_side import bearer_token
from tools.oracle import kafka_with_listeners

RELEASES = {"4.4.0": "kafka-4.4", "4.3.0": "kafka-4.3", "3.9.1": "kafka-3.9"}
LISTENERS = {"OPEN": "SASL_PLAINTEXT", "STRICT": "SASL_PLAINTEXT"}
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
OLDER_HANDLER = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerValidatorCallbackHandler"
JAAS = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
STRICT = {
    "sasl.oauthbearer.expected.audience": "kafka,other", "sasl.oauthbearer.expected.issuer": "the issuer",
    "sasl.oauthbearer.sub.claim.name": "client_id", "sasl.oauthbearer.scope.claim.name": "scp", "sasl.oauthbearer.clock.skew.seconds": "0",
}  # fmt: skip


class FromNow(float):
    """A time of so many seconds after the token is signed."""

    def __repr__(self) -> str:
        return f"in {float(self):g} s"


UNVERIFIED = {f"sasl.oauthbearer.allow.unverified.{what}": "true" for what in ("audience", "issuer")}
"""Since 4.4.0 a broker that expects no audience or no issuer does not start without these settings."""
CLAIMS = {"sub": "olga", "exp": FromNow(3600), "iat": FromNow(-5), "scope": "read"}
ANYBODY = {"client_id": "olga", "exp": FromNow(3600), "iat": FromNow(-5), "iss": "the issuer", "aud": "kafka"}


def rsa(kid: str, bits: int = 2048, **more: str) -> jwk.RSAKey:
    return jwk.RSAKey.generate_key(bits, {"kid": kid, **more}, private=True)


with warnings.catch_warnings():
    warnings.simplefilter("ignore", SecurityWarning)
    KEYS: dict[str, Any] = {
        "rsa": rsa("rsa"), "rs256": rsa("rs256", alg="RS256", use="sig"), "short": rsa("short", 1024), "enc": rsa("enc", use="enc"),
        "ops": rsa("ops"), "large": rsa("large", 4096),
        **{name: jwk.ECKey.generate_key(curve, {"kid": name}, private=True)
           for name, curve in {"p256": "P-256", "p384": "P-384", "p521": "P-521", "k1": "secp256k1"}.items()},
        "ed": jwk.OKPKey.generate_key("Ed25519", {"kid": "ed"}, private=True),
        "oct": jwk.OctKey.generate_key(256, {"kid": "oct"}),
    }  # fmt: skip
STRANGER = rsa("rsa")


def key_set() -> dict[str, Any]:
    """Return the set that the broker reads, with keys that it cannot use."""
    public = [dict(key.as_dict(private=name == "oct")) for name, key in KEYS.items()]
    for key in public:
        if key["kid"] == "ops":
            key["key_ops"] = ["encrypt"]
    return {"keys": [{"kty": "new", "kid": "new"}, {"kty": "RSA", "kid": "broken", "n": "AQ"}, *public]}


def signed(claims: Any, key: str = "rsa", alg: str = "RS256", by: Any = None, **header: Any) -> str:
    """Return a token with these claims, which may be bytes. `by` is another key than the header names, and a header of None is left out."""
    head = {name: value for name, value in {"alg": alg, "kid": key, **header}.items() if value is not None}
    return signed_raw(json.dumps(head).encode(), claims if isinstance(claims, bytes) else encoded(claims), alg, by or KEYS[key])


def encoded(claims: dict[str, Any], more: bytes = b"") -> bytes:
    """Return claims as JSON, with times relative to now in whole seconds unless they have a fraction, and further text at the end."""
    now = int(time.time())
    plain = {
        name: value if not isinstance(value, FromNow) else now + (int(value) if value.is_integer() else float(value))
        for name, value in claims.items()
    }
    return json.dumps(plain)[:-1].encode() + more + b"}"


def signed_raw(head: bytes, claims: bytes, alg: str, key: Any) -> str:
    message = b".".join(map(urlsafe_b64encode, (head, claims)))
    signature = jws.JWSRegistry.algorithms[alg].sign(message, key)
    return (message + b"." + urlsafe_b64encode(signature)).decode()


def with_claims(claims: dict[str, Any] = CLAIMS, **changes: Any) -> Callable[[], str]:
    """Return what makes a token with other claims, or without one that is None."""
    return partial(signed, {name: value for name, value in {**claims, **changes}.items() if value is not None})


strict = partial(with_claims, ANYBODY)
GOOD = signed(CLAIMS)
HEAD, BODY, SIGNATURE = GOOD.split(".")
OTHER_BODY = signed({**CLAIMS, "sub": "root"}).split(".")[1]
OPEN_TOKENS = {
    **{f"{alg} by {key}": signed(CLAIMS, key, alg) for key, algs in {
        "rsa": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "rs256": ("RS256", "PS256", "RS512"), "p256": ("ES256",),
        "p384": ("ES384",), "p521": ("ES512",), "k1": ("ES256K",), "ed": ("EdDSA",), "oct": ("HS256",), "short": ("RS256",),
        "enc": ("RS256",), "ops": ("RS256",), "large": ("RS256", "PS512"),
    }.items() for alg in algs},
    "no kid": signed(CLAIMS, kid=None), "no kid, second key": signed(CLAIMS, "rs256", kid=None),
    "no kid, ES384": signed(CLAIMS, "p384", "ES384", kid=None), "no kid, ES256": signed(CLAIMS, "p256", "ES256", kid=None),
    "unknown kid": signed(CLAIMS, kid="nobody"), "kid of another type": signed(CLAIMS, kid="p256"),
    "broken kid": signed(CLAIMS, kid="broken"),
    "kid that is a number": signed(CLAIMS, kid=7), "alg none": signed(CLAIMS, alg="none"),
    "alg none with a signature": signed(CLAIMS, alg="none") + SIGNATURE,
    "alg HS256 by the public key": signed_raw(b'{"alg":"HS256","kid":"rsa"}', encoded(CLAIMS), "HS256", KEYS["oct"]),
    "alg unknown": f'{urlsafe_b64encode(b"""{"alg":"XX1","kid":"rsa"}""").decode()}.{BODY}.{SIGNATURE}',
    "alg missing": f'{urlsafe_b64encode(b"""{"kid":"rsa"}""").decode()}.{BODY}.{SIGNATURE}',
    "another key of that name": signed(CLAIMS, by=STRANGER), "other claims": f"{HEAD}.{OTHER_BODY}.{SIGNATURE}",
    "signature cut": GOOD[:-8], "signature empty": f"{HEAD}.{BODY}.", "four parts": GOOD + ".x", "two parts": f"{HEAD}.{BODY}",
    "header no JSON": f"{urlsafe_b64encode(b'no').decode()}.{BODY}.{SIGNATURE}",
    "header twice alg": signed_raw(b'{"alg":"RS256","alg":"RS256","kid":"rsa"}', encoded(CLAIMS), "RS256", KEYS["rsa"]),
    "crit unknown": signed(CLAIMS, crit=["exp"], exp=1), "crit b64": signed(CLAIMS, crit=["b64"], b64=True), "typ": signed(CLAIMS, typ="x"),
    "cty JWT": signed(CLAIMS, cty="JWT"), "embedded jwk": signed(CLAIMS, kid=None, by=STRANGER, jwk=STRANGER.as_dict(private=False)),
    "zip": signed(CLAIMS, zip="DEF"),
    "claims no JSON": signed(b"no"), "claims a list": signed(b"[]"), "claims twice sub": signed(encoded(CLAIMS, b',"sub":"p"')),
    "claims NaN": signed(encoded(CLAIMS, b',"x":NaN')), "claims with a BOM": signed(b"\xef\xbb\xbf" + encoded(CLAIMS)),
    "claims with a trailing byte": signed(encoded(CLAIMS) + b"x"), "claims bad UTF-8": signed(encoded(CLAIMS, b',"x":"\xff"')),
    "claims nested deeply": signed(encoded(CLAIMS, b',"x":' + b"[" * 200 + b"]" * 200)),
    "ended within the skew": with_claims(exp=FromNow(-10), iat=FromNow(-100)),
    "ended before the skew": with_claims(exp=FromNow(-31), iat=FromNow(-100)), "claims of 20 kB": with_claims(groups=["a group"] * 2000),
    **{f"{name} {value!r}": with_claims(**{name: value}) for name, values in {
        "sub": (None, "", "  ", " olga ", 7, True, ["olga"]), "iat": (None, FromNow(300), "soon", -1, FromNow(-4.5), True, 10**20),
        "exp": (None, FromNow(-10), FromNow(-31), FromNow(-300), "soon", FromNow(60.9), True, -1, 10**15, 10**18, 10**20, 1e30,
                FromNow(-6), FromNow(-20)),
        "nbf": (FromNow(10), FromNow(300), FromNow(-300), "soon", FromNow(4000), True, None),
        "aud": ("kafka", ["kafka"], [], 7, [7], {}), "iss": ("x", 7), "jti": (7, "x"),
        "scope": (None, "", "  ", "a b", ["a", "b"], ["a", "a"], ["a", " a"], ["a", ""], ["a", None], ["a", 7], [], 7, {"a": 1},
                  True, [["a"]]),
    }.items() for value in values},
}  # fmt: skip
STRICT_TOKENS = {
    "good": strict(),
    **{f"{name} {value!r}": strict(**{name: value}) for name, values in {
        "client_id": (None, "", 7), "aud": (None, "nobody", ["x", "other"], ["x"], [], 7, ["kafka", 7], "Kafka"),
        "iss": (None, "x", 7, "The issuer"),
        "scp": ("", ["a"], ["a", "a"], 7), "scope": ("", ["a", "a"]), "sub": ("paul", 7, ""),
        "exp": (FromNow(-1), FromNow(-10)), "nbf": (FromNow(100), FromNow(-100)),
    }.items() for value in values},
}  # fmt: skip


def checked(token: str | Callable[[], str]) -> Callable[[Talk], None]:
    """Send a token that may be made at this moment, and ask for something if it was accepted."""

    def play(talk: Talk) -> None:
        talk.handshake("OAUTHBEARER")
        sent = bearer_token(token if isinstance(token, str) else token())
        answer = talk.token(sent, shown=lambda each: (each.error_code, each.error_message, each.auth_bytes))
        if answer is not None and not answer.auth_bytes:
            talk.end()

    return play


DIALOGUES = [
    *[Dialogue(name, checked(token), "OPEN") for name, token in OPEN_TOKENS.items()],
    *[Dialogue(f"strict {name}", checked(token), "STRICT") for name, token in STRICT_TOKENS.items()],
    Dialogue("other authzid", bearer(GOOD, authorization="paul"), "OPEN"),
    Dialogue("own authzid", bearer(GOOD, authorization="olga"), "OPEN"),
    Dialogue("trimmed authzid", bearer(signed({**CLAIMS, "sub": " olga "}), authorization="olga"), "OPEN"),
    Dialogue("unsecured token", bearer(signed(CLAIMS, alg="none", kid=None), b"\x01"), "OPEN"),
]


OVERFLOWS = (f"exp {10**15}", f"exp {10**18}")
"""In 3.9.1 the end of such a session overflows without an exception."""


def without_pauses(dialogues: Iterator[tuple[str, list[Any]]]) -> dict[str, list[Any]]:
    """Leave out what was late: a new JVM takes more than 100 ms for its first signatures on large curves."""
    return {name: [said[1] for said in steps] for name, steps in dialogues}


@pytest.mark.parametrize("version", list(RELEASES))
def test_tokens_have_kafkas_answers(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file := tmp_path / "keys.json").write_text(json.dumps(key_set()))
    url = f"file://{file}"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={url}")
    common = {"sasl.enabled.mechanisms": "OAUTHBEARER", "sasl.oauthbearer.jwks.endpoint.url": url}
    of_strict = {f"listener.name.strict.{name}": value for name, value in STRICT.items()}
    if version == "4.4.0":
        common |= UNVERIFIED
    of_kafka = {
        f"listener.name.{name.lower()}.oauthbearer.{key}": value
        for name in LISTENERS
        for key, value in {"sasl.jaas.config": JAAS, "sasl.server.callback.handler.class": HANDLER}.items()
    }
    with kafka_with_listeners(version, {**common, **of_strict, **of_kafka}, LISTENERS) as addresses:
        theirs = without_pauses(played(DIALOGUES, addresses))
    listeners = {name: f"{protocol}://127.0.0.1:0" for name, protocol in LISTENERS.items()}
    with Broker(listeners=listeners, profile=RELEASES[version], settings={**common, **of_strict}) as broker:
        ours = without_pauses(played(DIALOGUES, {name: broker._up().bootstrap_of(name) for name in LISTENERS}))
    for name in OVERFLOWS if version == "3.9.1" else ():
        del theirs[name]
    assert not (wrong := differences(theirs, ours)), wrong
