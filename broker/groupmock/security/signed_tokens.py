"""Signed bearer tokens are checked against a set of public keys (JWKS, RFC 7517), as Kafka's OAuthBearerValidatorCallbackHandler does.

Kafka uses the library jose4j, whose choices are kept where a client can see them: which key of the set a token is checked by, what a claim
may be, and which claims contradict each other (SEC-44 to SEC-48 in docs/kafka/security.md). The signature itself is checked by joserfc.
A token and a key set have a largest size, so that a token costs about a millisecond at most, and a token waits for its turn (`net.guard`).
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from joserfc import jwk, jws
from joserfc.errors import JoseError, SecurityWarning

from groupmock_codec.units import MS_PER_S

from .oauthbearer import BadToken, Bearer, BreaksKafka
from .settings import SecuritySettings
from .tokens import LONG_MAX, PARTS, decoded, no_constant

KEY_TYPES: Final = {
    **{f"{family}{bits}": "RSA" for family in ("RS", "PS") for bits in (256, 384, 512)},
    "ES256": "EC", "ES384": "EC", "ES512": "EC", "EdDSA": "OKP", "HS256": "oct", "HS384": "oct", "HS512": "oct",
}  # fmt: skip
"""Maps each algorithm to the type of its keys. ES256K is not there, because Java has had no secp256k1 since release 16."""
CURVES: Final = {"ES256": ("P-256",), "ES384": ("P-384",), "ES512": ("P-521",), "EdDSA": ("Ed25519", "Ed448")}
LEAST_RSA_BITS: Final = 2048
MOST_RSA_BITS: Final = 8192
"""Larger keys are not used, because the time to check by a key grows with the square of its length."""
MOST_KEYS: Final = 100
MOST_SET_BYTES: Final = 1024 * 1024
MOST_TOKEN: Final = 64 * 1024
"""Longer tokens are refused, although Kafka accepts what fits into a frame, because reading them takes milliseconds."""
UNDERSTOOD: Final = ["b64"]
"""The critical header parameters that jose4j understands (RFC 7797)."""


class BadKeySet(ValueError):
    """Raised if a key set cannot be read. The message says why."""


class _Key(NamedTuple):
    """A key with the fields by which it is chosen."""

    key: Any
    kind: str
    kid: str | None
    use: str | None
    alg: str | None
    verifies: bool
    curve: str | None


class KeySet:
    """The keys of a document. Those that cannot be used are left out, as jose4j does (JsonWebKeySet)."""

    def __init__(self, text: str | bytes) -> None:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise BadKeySet("it is not JSON") from None
        found = document.get("keys") if isinstance(document, dict) else None
        if not isinstance(found, list):
            raise BadKeySet('it has no list of "keys"')
        if len(found) > MOST_KEYS:
            raise BadKeySet(f"it has more than {MOST_KEYS} keys")
        self._keys = [key for each in found if (key := _imported(each)) is not None]

    def verified(self, token: str, header: dict[str, Any]) -> bytes:
        """Check the signature of a token and return its claims as they are encoded. Raises BadToken."""
        algorithm = header.get("alg")
        kind = KEY_TYPES.get(algorithm) if isinstance(algorithm, str) else None
        if kind is None:
            raise BadToken(f"its algorithm (alg) is {algorithm!r}, which is none of {', '.join(KEY_TYPES)}")
        assert isinstance(algorithm, str)
        key = self._chosen(algorithm, kind, header)
        if kind == "RSA" and not LEAST_RSA_BITS <= key.raw_value.key_size <= MOST_RSA_BITS:
            raise BadToken(f"its RSA key has {key.raw_value.key_size} bits: {LEAST_RSA_BITS} to {MOST_RSA_BITS} are accepted")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SecurityWarning)  # Kafka accepts what joserfc advises against.
                model = jws.JWSRegistry.algorithms[algorithm]
                model.check_key(key)
                message, _, signature = token.rpartition(".")
                if not model.verify(message.encode(), decoded(signature), key):
                    raise BadToken("its signature is wrong")
        except (JoseError, ValueError) as wrong:
            raise wrong if isinstance(wrong, BadToken) else BadToken(f"its signature cannot be checked: {wrong}") from None
        return decoded(token.split(".")[1])

    def _chosen(self, algorithm: str, kind: str, header: dict[str, Any]) -> Any:
        """Return the key of a token, the first one that could be it (VerificationJwkSelector). Raises BadToken."""
        kid = header.get("kid")
        if kid is not None and not isinstance(kid, str):
            raise BadToken("the name of its key (kid) is no text")
        fits: list[Callable[[_Key], bool]] = [
            lambda key: key.kind == kind and kid in (None, key.kid) and key.use in (None, "sig") and key.verifies,
            lambda key: key.alg in (None, algorithm),
            lambda key: key.curve is None or key.curve in CURVES[algorithm],
        ]
        found = self._keys
        for at, fit in enumerate(fits):
            if at == 0 or len(found) > 1:  # Only if several keys are left does jose4j look further.
                found = [key for key in found if fit(key)]
        if not found:
            named = f"named {kid!r}" if kid is not None else "for it"
            raise BadToken(f"the key set has no {kind} key {named} that checks signatures")
        return found[0].key


def _imported(fields: Any) -> _Key | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)
            plain = {name: value for name, value in fields.items() if name in ("kty", "crv", "n", "e", "x", "y", "k")}
            key = jwk.import_key(plain)
    except (JoseError, ValueError, AttributeError, TypeError, KeyError):
        return None
    kid, use, alg = [value if isinstance(value := fields.get(name), str) else None for name in ("kid", "use", "alg")]
    return _Key(key, key.key_type, kid, use, alg, "verify" in fields.get("key_ops", ("verify",)), fields.get("crv"))


class Keys(Protocol):
    """A source of keys, such as a file, returns the set of the moment."""

    def now(self) -> KeySet:
        """Return the set that is valid now. Raises BadKeySet."""


class KeyFile:
    """A key set in a file, which is read again when the file has changed (JwksFileVerificationKeyResolver)."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._read: tuple[int, KeySet] | None = None

    def now(self) -> KeySet:
        try:
            changed = os.stat(self._path).st_mtime_ns
            if self._read is None or self._read[0] != changed:
                with open(self._path, "rb") as file:
                    text = file.read(MOST_SET_BYTES + 1)
                if len(text) > MOST_SET_BYTES:
                    raise BadKeySet(f"it has more than {MOST_SET_BYTES} bytes")
                self._read = changed, KeySet(text)
        except OSError as trouble:
            raise BadKeySet(trouble.strerror or str(trouble)) from None
        return self._read[1]


def check(token: str, now_ms: int, keys: Keys, settings: SecuritySettings) -> Bearer:
    """Check a signed token at a wall clock time (ms since 1970). Raises BadToken or BreaksKafka."""
    if len(token) > MOST_TOKEN:
        raise BadToken(f"it has more than {MOST_TOKEN} characters")
    parts = token.split(".")
    if len(parts) != PARTS or not all(parts):
        raise BadToken("it is no JSON Web Signature of three parts")
    header = _object(decoded(parts[0]), "header")
    if header.get("crit", UNDERSTOOD) != UNDERSTOOD or header.get("b64", True) is not True:
        raise BadToken("its header has critical parts (crit) that are not understood")
    if str(header.get("cty", "")).lower().removeprefix("application/") == "jwt":
        raise BadToken("it is nested (cty)")
    try:
        claims = _object(keys.now().verified(token, header), "claims")
    except BadKeySet as bad:
        raise BadToken(f"the key set cannot be used: {bad}") from None
    _check_names(claims, settings)
    expires_s, issued_s = _check_times(claims, now_ms // MS_PER_S, settings.sasl_oauthbearer_clock_skew_seconds)
    name = claims.get(settings.sasl_oauthbearer_sub_claim_name)
    if not isinstance(name, str | None):
        raise BadToken(f"its principal ({settings.sasl_oauthbearer_sub_claim_name}) is no text")
    _check_scopes(claims.get(settings.sasl_oauthbearer_scope_claim_name))
    if expires_s > LONG_MAX // MS_PER_S:
        raise BreaksKafka("it ends after the last millisecond that a long can have (exp)")
    if name is None or not name.strip():
        raise BadToken(f"it does not name its principal ({settings.sasl_oauthbearer_sub_claim_name})")
    if issued_s < 0:
        raise BadToken("it was issued before 1970 (iat)")
    return Bearer(name.strip(), expires_s * MS_PER_S)


def _check_names(claims: dict[str, Any], settings: SecuritySettings) -> None:
    """Check audience, issuer, subject and id (AudValidator, IssValidator, SubValidator, JtiValidator)."""
    expected = set(settings.audiences)
    audience = claims.get("aud")
    if audience is None and expected:
        raise BadToken("it has no audience (aud)")
    if audience is not None and (expected or not settings.sasl_oauthbearer_allow_unverified_audience):
        audiences = [audience] if isinstance(audience, str) else audience
        if not isinstance(audiences, list) or not all(isinstance(each, str) for each in audiences):
            raise BadToken("its audience (aud) is no text and no list of texts")
        if expected.isdisjoint(audiences):
            raise BadToken(f"its audience (aud) is {', '.join(audiences) or 'empty'} and not {' or '.join(sorted(expected)) or 'absent'}")
    for claim in ("iss", "sub", "jti"):
        if not isinstance(claims.get(claim), str | None):
            raise BadToken(f"its claim {claim} is no text")
    issuer = settings.sasl_oauthbearer_expected_issuer.strip()
    if issuer and claims.get("iss") != issuer:
        raise BadToken(f"its issuer (iss) is {claims.get('iss')} and not {issuer}")


def _check_times(claims: dict[str, Any], now_s: int, skew_s: int) -> tuple[int, int]:
    """Check the claims that are times, and return when the token ends and was issued (NumericDateValidator)."""
    expires, issued, begins = [_seconds(claims, name) for name in ("exp", "iat", "nbf")]
    if expires is None:
        raise BadToken("it does not say when it ends (exp)")
    if issued is None:
        raise BadToken("it does not say when it was issued (iat)")
    if now_s - skew_s >= expires:
        raise BadToken(f"it ended {now_s - expires} s ago (exp)")
    if expires < issued or (begins is not None and expires < begins):
        raise BadToken("it ends (exp) before it was issued (iat) or begins (nbf)")
    if begins is not None and now_s + skew_s < begins:
        raise BadToken(f"it begins in {begins - now_s} s (nbf)")
    return expires, issued


def _check_scopes(scopes: object) -> None:
    """Check scopes as ClaimValidationUtils.validateScopes does. A value that is neither text nor list counts as no scope."""
    seen = set()
    for scope in [scopes] if isinstance(scopes, str) else scopes if isinstance(scopes, list) else []:
        if not isinstance(scope, str | None):
            raise BreaksKafka("one of its scopes is no text")
        if scope is None or not scope.strip() or scope.strip() in seen:
            raise BadToken("one of its scopes is empty or there twice")
        seen.add(scope.strip())


def _seconds(claims: dict[str, Any], name: str) -> int | None:
    """Return a time in whole seconds, as Java's Number.longValue() does, or None without one. Raises BadToken."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadToken(f"its time {name} is no number")
    if isinstance(value, int) and abs(value) > LONG_MAX:
        raise BadToken(f"its time {name} is too large")
    return max(-LONG_MAX, min(int(value), LONG_MAX))


def _object(text: bytes, what: str) -> dict[str, Any]:
    """Read an object in JSON in which no name is there twice. Raises BadToken."""
    try:
        found = json.loads(text.decode(errors="replace"), object_pairs_hook=_without_repetition, parse_constant=no_constant)
    except (ValueError, RecursionError):
        raise BadToken(f"its {what} cannot be read") from None
    if not isinstance(found, dict):
        raise BadToken(f"its {what} is no JSON object")
    return found


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice")
    return found
