"""The functions of the exchange language that make what a client sends to authenticate itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from groupmock.security.client_side import RefusedByServer, ScramClient, bearer_token, plain_token, unsecured_token
from groupmock.security.scram import NUMBERS


def _unsecured(name: str, expires_ms: int, claims: Mapping[str, Any] | None = None) -> str:
    """Return an unsecured token of OAUTHBEARER. Its claims have seconds where an exchange has milliseconds (`$wall_ms`)."""
    more = {key: value // 1000 if key in ("iat", "nbf") else value for key, value in (claims or {}).items()}
    return unsecured_token(name, expires_ms // 1000, **more)


def _scram_client(mechanism: str, user: str, password: str, nonce: str) -> ScramClient:
    if mechanism not in NUMBERS:
        raise ValueError(f"no mechanism {mechanism}: there are {', '.join(NUMBERS)}")
    return ScramClient(NUMBERS[mechanism], user, password, nonce)


def _first(mechanism: str, user: str, nonce: str) -> bytes:
    return _scram_client(mechanism, user, "", nonce).first()


def _proof(mechanism: str, user: str, password: str, nonce: str, answer: bytes) -> bytes:
    """Return the final message of SCRAM for the server's first one. Raises ValueError if that is none."""
    try:
        return _scram_client(mechanism, user, password, nonce).final(answer)
    except RefusedByServer as refused:
        raise ValueError(str(refused)) from None


TOKENS: Final[Mapping[str, Callable[..., Any]]] = {
    "plain": plain_token,
    "bearer": bearer_token,
    "unsecured": _unsecured,
    "scram": _first,
    "proof": _proof,
    "replace": lambda data, old, new: data.replace(old, new),
    "before": lambda data, mark: data[: data.index(mark)],
}
"""Maps names of the exchange language to functions. `replace` and `before` change bytes, for messages that are wrong in one place."""
