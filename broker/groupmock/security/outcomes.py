"""A SASL mechanism answers each token of a client with one of these outcomes."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

SASL_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
"""A regular expression for a name in SCRAM and OAUTHBEARER, in which a comma and an equals sign are escaped (RFC 5802, saslname)."""


class Continues(NamedTuple):
    """The exchange goes on: the client gets these bytes and sends another token."""

    data: bytes


class Accepted(NamedTuple):
    """The client is who it says it is. `data` is the last message of the mechanism. `expires_ms` is the wall clock time (ms since 1970) at
    which the credential ends, or None if it does not end."""

    name: str
    data: bytes = b""
    expires_ms: int | None = None


class Denied(NamedTuple):
    """The authentication failed, for which the client gets SASL_AUTHENTICATION_FAILED (58) with this text, which is Kafka's. `why` is for
    the log and the story, which may say more than the client is told. `named`: Kafka's mechanism itself says what was wrong
    (SaslAuthenticationException); a client of bare tokens sees the difference, because only then its connection is closed late."""

    text: str
    why: str
    named: bool = True


class Broken(NamedTuple):
    """The connection is closed at once without an answer, because Kafka's mechanism raises an unexpected error for such a token."""

    why: str


Outcome = Continues | Accepted | Denied | Broken


class Exchange(Protocol):
    """An authentication with one mechanism takes the client's tokens one by one."""

    def take(self, token: bytes) -> Outcome:
        """Handle the next token of the client."""


def invalid(mechanism: str, why: str) -> Denied:
    """Return the failure whose text does not say what was wrong, as Kafka does for everything that its mechanisms do not name."""
    text = f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"
    return Denied(text, why, named=False)


def other_identity(why: str) -> Denied:
    """Return the failure of a client that asks to act as somebody else (its authorization id)."""
    return Denied("Authentication failed: Client requested an authorization id that is different from username", why)
