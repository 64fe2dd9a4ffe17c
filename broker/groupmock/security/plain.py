"""The mechanism PLAIN (RFC 4616) has one token with authorization id, user name and password, separated by NUL.

The checks, their order and their texts are those of org.apache.kafka.common.security.plain.internals.PlainSaslServer (SEC-10 to SEC-13 in
docs/kafka/security.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .outcomes import Accepted, Denied, Outcome, other_identity

NAME: Final = "PLAIN"
PARTS: Final = 3
WRONG: Final = "Authentication failed: Invalid username or password"


class PlainExchange:
    """An exchange of one token. `matches(user, password)` says whether this is the password of a user."""

    def __init__(self, matches: Callable[[str, str], bool]) -> None:
        self._matches = matches

    def take(self, token: bytes) -> Outcome:
        # Kafka stops at the fourth part, so that it says "got 4" for any larger number.
        parts = token.decode(errors="replace").split("\0", PARTS)
        if len(parts) != PARTS:
            return Denied(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}", "the token does not have three parts")
        authorization, user, password = parts
        if not user:
            return Denied("Authentication failed: username not specified", "the token names no user")
        if not password:
            return Denied("Authentication failed: password not specified", f"user {user} sent no password")
        if not self._matches(user, password):
            return Denied(WRONG, f"user {user} is unknown or has another password")
        if authorization not in ("", user):
            return other_identity(f"user {user} asked to act as {authorization}")
        return Accepted(user)
