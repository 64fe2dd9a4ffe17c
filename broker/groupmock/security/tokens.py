"""Bearer tokens are read here: unsecured JSON Web Signatures, as Kafka's default validator accepts them (SEC-40 to SEC-42)."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from binascii import Error
from typing import Any, Final

from groupmock_codec.units import MS_PER_S

from .oauthbearer import BadToken, Bearer

PARTS: Final = 3
LONG_MAX: Final = 2**63 - 1


def unsecured(token: str, now_ms: int) -> Bearer:
    """Check an unsecured token as OAuthBearerUnsecuredValidatorCallbackHandler does at a wall clock time (ms since 1970). Raises
    BadToken."""
    header, claims, signature = parts_of(token)
    if header.get("alg") != "none":
        raise BadToken(f"its algorithm is {header.get('alg')!r}: only unsecured tokens (none) are accepted")
    if signature:
        raise BadToken("it has a signature, although its algorithm is none")
    return bearer_of(claims, now_ms)


def anything(token: str, now_ms: int) -> Bearer:
    """Return what any token says, without checking it. The principal is its subject if it can be read, else `token`. It ends when it says
    so, unless that is over."""
    try:
        claims = parts_of(token)[1]
    except BadToken:
        return Bearer("token", None)
    name, expires_ms = claims.get("sub"), _milliseconds(claims.get("exp"))
    in_future = expires_ms is not None and expires_ms > now_ms
    return Bearer(name if isinstance(name, str) and name else "token", expires_ms if in_future else None)


def parts_of(token: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Return the header, the claims and the encoded signature of a JSON Web Signature in its compact form. Raises BadToken."""
    parts = token.split(".")
    if len(parts) != PARTS:
        raise BadToken("it is no JSON Web Signature of three parts")
    return _object(parts[0], "header"), _object(parts[1], "claims"), parts[2]


def bearer_of(claims: dict[str, Any], now_ms: int) -> Bearer:
    """Check the claims `sub`, `exp` and `iat`. Raises BadToken."""
    name, expires_ms = claims.get("sub"), _milliseconds(claims.get("exp"))
    if not isinstance(name, str) or not name.strip():
        raise BadToken("it has no subject (sub)")
    if expires_ms is None:
        raise BadToken("it does not say when it ends (exp)")
    if claims.get("iat") is not None:
        issued_ms = _milliseconds(claims["iat"])
        if issued_ms is None or issued_ms > now_ms:
            raise BadToken("it was issued in the future (iat)")
    if now_ms >= expires_ms:
        raise BadToken(f"it ended {(now_ms - expires_ms) / MS_PER_S:.1f} s ago (exp)")
    return Bearer(name, expires_ms)


def _milliseconds(seconds: object) -> int | None:
    """Return a time of a claim, which has seconds since 1970, in milliseconds, or None if it is no such number."""
    # json reads 1e999 as infinity.
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0:
        return int(min(seconds, LONG_MAX // MS_PER_S) * MS_PER_S)
    return None


def decoded(part: str) -> bytes:
    """Decode a part of a token (base64url without padding). Raises BadToken."""
    try:
        return urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except (Error, ValueError):
        raise BadToken("one of its parts is not base64url") from None


def _object(part: str, what: str) -> dict[str, Any]:
    try:
        found = json.loads(decoded(part), parse_constant=no_constant)
    except (ValueError, RecursionError):
        raise BadToken(f"its {what} cannot be read") from None
    if not isinstance(found, dict):
        raise BadToken(f"its {what} is no JSON object")
    return found


def no_constant(name: str) -> None:
    """Refuse NaN and Infinity, which json accepts and JSON does not have."""
    raise ValueError(f"{name} is not JSON")
