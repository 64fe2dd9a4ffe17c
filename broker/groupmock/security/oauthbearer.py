"""OAUTHBEARER (RFC 7628, KIP-255) from the server's side. `check` decides about the token itself.

The messages that are accepted are those of org.apache.kafka.common.security.oauthbearer.internals.OAuthBearerClientInitialResponse, and
the order of the checks is that of OAuthBearerSaslServer (SEC-40 to SEC-43 in docs/kafka/security.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from .outcomes import SASL_NAME, Accepted, Broken, Continues, Denied, Outcome, invalid

NAME: Final = "OAUTHBEARER"
_PAIR: Final = r"[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01"
FIRST: Final = re.compile(rf"n,(?:a=(?P<authorization>{SASL_NAME}))?,\x01(?P<pairs>(?:{_PAIR})+)\x01")
AUTH: Final = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_.a-zA-Z0-9]+)")
UNDERSTOOD: Final = b"\x01"
"""The client's answer to a refusal, after which the server ends the exchange (RFC 7628, section 3.2.3)."""
INVALID: Final = '{"status":"invalid_token"}'


class Bearer(NamedTuple):
    """The principal of a valid token, and the wall clock time (ms since 1970) at which it ends (None: never)."""

    name: str
    expires_ms: int | None


class BadToken(ValueError):
    """Raised for a token that is not accepted. The text is for the log and the story: the client only learns that it is invalid."""


class BreaksKafka(ValueError):
    """Raised for a token for which Kafka closes the connection without an answer, because checking it raises an unexpected exception."""


class BearerExchange:
    """An exchange that ends after one valid token. `check(token)` returns what the token says, or raises BadToken or BreaksKafka."""

    def __init__(self, check: Callable[[str], Bearer]) -> None:
        self._check = check
        self._refused: str | None = None  # The reason why a token was refused, until the client has answered that.

    def take(self, token: bytes) -> Outcome:
        refused, self._refused = self._refused, None
        if refused is not None and token == UNDERSTOOD:
            return Denied(INVALID, refused)
        found = FIRST.fullmatch(token.decode(errors="replace"))
        if found is None:
            return invalid(NAME, "the first message is malformed")
        pairs = [pair.partition("=") for pair in found["pairs"].rstrip("\x01").split("\x01")]
        # Of several values of a key, Kafka takes the last one.
        auth = AUTH.fullmatch({key: value for key, _, value in pairs}.get("auth", ""))
        if auth is None:
            return invalid(NAME, "the first message has no token")
        if auth["scheme"].lower() != "bearer":
            return Broken(f"the scheme of the OAUTHBEARER token is {auth['scheme']} and not Bearer")
        try:
            bearer = self._check(auth["token"])
        except BadToken as bad:
            self._refused = f"the token is not valid: {bad}"
            return Continues(INVALID.encode())
        except BreaksKafka as breaks:
            return Broken(f"the token breaks Kafka's check: {breaks}")
        authorization = found["authorization"]
        if authorization and authorization != bearer.name:
            return Denied(
                f"Authentication failed: Client requested an authorization id ({authorization}) that is different from the token's "
                f"principal name ({bearer.name})",
                f"the token of {bearer.name} was sent to act as {authorization}",
            )
        return Accepted(bearer.name, b"", bearer.expires_ms)
