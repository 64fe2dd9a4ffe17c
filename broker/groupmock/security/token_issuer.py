"""An authority of one run signs bearer tokens, as the token endpoint of an OAuth 2.0 server does. Its key lives as long as the process."""

from __future__ import annotations

import json
from secrets import token_hex
from typing import Any, Final

from joserfc import jwk, jws

from .settings import SecuritySettings
from .signed_tokens import KeySet

ALGORITHM: Final = "ES256"
"""The algorithm of the tokens. A key for it is made in less than a millisecond, one for RS256 takes a hundred."""


class TokenIssuer:
    """Signs tokens with a new key, whose public half is in `document`."""

    def __init__(self) -> None:
        self._kid = token_hex(8)
        self._key = jwk.ECKey.generate_key("P-256", {"kid": self._kid, "use": "sig", "alg": ALGORITHM}, private=True)
        self.document: dict[str, Any] = {"keys": [dict(self._key.as_dict(private=False))]}
        """The key set (JWKS) that checks the tokens."""
        self._keys = KeySet(json.dumps(self.document))

    def now(self) -> KeySet:
        return self._keys

    def issue(self, name: str, now_s: int, lasts_s: int, scope: str, url: str, settings: SecuritySettings) -> str:
        """Return a token that a listener with these settings accepts. `url` is its issuer if the settings expect no other."""
        claims: dict[str, Any] = {
            "iss": settings.sasl_oauthbearer_expected_issuer.strip() or url,
            "sub": name,
            settings.sasl_oauthbearer_sub_claim_name: name,
            "iat": min(now_s, now_s + lasts_s),
            "exp": now_s + lasts_s,
            "jti": token_hex(8),
        }
        if settings.audiences:
            claims["aud"] = settings.audiences
        if scope:
            claims[settings.sasl_oauthbearer_scope_claim_name] = scope
        return jws.serialize_compact({"alg": ALGORITHM, "kid": self._kid, "typ": "JWT"}, json.dumps(claims), self._key, [ALGORITHM])
