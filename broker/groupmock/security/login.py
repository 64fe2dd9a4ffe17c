"""The authentication of a client step by step, without IO: which requests it sends, and what it makes of the answers."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator
from typing import Any, Final, NamedTuple

from groupmock_codec.api_keys import SASL_AUTHENTICATE, SASL_HANDSHAKE
from groupmock_codec.messages.k17_sasl_handshake import SaslHandshakeRequest
from groupmock_codec.messages.k36_sasl_authenticate import SaslAuthenticateRequest

from .client_side import RefusedByServer, ScramClient, bearer_token, plain_token
from .scram import NUMBERS

HANDSHAKE_VERSION: Final = 1
TOKEN_VERSION: Final = 1
"""The versions in use: every broker since Kafka 2.2 has them."""
Steps = Generator[tuple[int, int, Any], Any, None]
"""Yields (API key, version, message); the answer to each is sent in."""


class LoginFailed(Exception):
    """Raised if the broker refuses an authentication. The message has no secret, but the broker's own text."""


class Credentials(NamedTuple):
    """A client authenticates itself with these credentials. `secret` is the password, or the token of OAUTHBEARER."""

    user: str
    secret: str
    mechanism: str = "PLAIN"

    def __repr__(self) -> str:
        return f"Credentials({self.user!r}, ..., {self.mechanism!r})"

    def login(self) -> Steps:
        return login(self.mechanism, self.user, self.secret)


def login(mechanism: str, user: str, secret: str) -> Steps:
    """Yield the requests that authenticate a user with one mechanism. Raises LoginFailed."""
    answer = yield SASL_HANDSHAKE, HANDSHAKE_VERSION, SaslHandshakeRequest(mechanism=mechanism)
    if answer.error_code:
        offered = ", ".join(answer.mechanisms) or "none"
        raise LoginFailed(f"SASL mechanism {mechanism} is not enabled on this listener (enabled: {offered})")
    if mechanism in NUMBERS:
        client = ScramClient(NUMBERS[mechanism], user, secret, secrets.token_urlsafe(18))
        first = yield _token(client.first())
        _check(first, mechanism, user)
        try:
            last = yield _token(client.final(first.auth_bytes))
            _check(last, mechanism, user)
            client.check(last.auth_bytes)
        except RefusedByServer as refused:
            raise LoginFailed(f"{mechanism} of user {user}: {refused}") from None
        return
    answer = yield _token(bearer_token(secret) if mechanism == "OAUTHBEARER" else plain_token(user, secret))
    if mechanism == "OAUTHBEARER" and answer.auth_bytes and not answer.error_code:
        # The broker says in a challenge why it refuses the token, and refuses it after the client's answer (RFC 7628, section 3.2.3).
        answer = yield _token(b"\x01")
    _check(answer, mechanism, user)


def log_in(steps: Steps, ask: Callable[[int, int, Any], Any]) -> None:
    """Perform the steps on a connection that answers at once. Raises LoginFailed, and what `ask` raises."""
    try:
        request = next(steps)
        while True:
            request = steps.send(ask(*request))
    except StopIteration:
        return


def _token(data: bytes) -> tuple[int, int, Any]:
    return SASL_AUTHENTICATE, TOKEN_VERSION, SaslAuthenticateRequest(auth_bytes=data)


def _check(answer: Any, mechanism: str, user: str) -> None:
    if answer.error_code:
        who = "the token" if mechanism == "OAUTHBEARER" else f"user {user}"
        raise LoginFailed(f"{mechanism} of {who} is refused: {answer.error_message or f'error {answer.error_code}'}")
