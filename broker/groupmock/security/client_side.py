"""The tokens with which a client authenticates itself: the other side of the mechanisms, without IO."""

from __future__ import annotations

import hmac
import json
from base64 import b64decode, b64encode, urlsafe_b64encode
from hashlib import new as new_hash

from .scram import HASHES, salted


class RefusedByServer(Exception):
    """Raised if the server's message is malformed, or if the server does not know the password either."""


def plain_token(user: str, password: str, authorization: str = "") -> bytes:
    """Return the token of PLAIN."""
    return f"{authorization}\0{user}\0{password}".encode()


def bearer_token(token: str, authorization: str = "") -> bytes:
    """Return the first message of OAUTHBEARER."""
    acting = f"a={_escaped(authorization)}" if authorization else ""
    return f"n,{acting},\x01auth=Bearer {token}\x01\x01".encode()


def unsecured_token(name: str, expires_s: float, **claims: object) -> str:
    """Return an unsecured JSON Web Signature, as clients make it for tests. Times are seconds since 1970."""
    parts = ({"alg": "none"}, {"sub": name, "exp": expires_s, **claims})
    return ".".join([*(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), ""])


class ScramClient:
    """The client's side of one SCRAM exchange. `mechanism` is Kafka's number of it."""

    def __init__(self, mechanism: int, user: str, password: str, nonce: str, extensions: str = "") -> None:
        self._mechanism = mechanism
        self._hash = HASHES[mechanism]
        self._password = password
        self._nonce = nonce
        self._bare = f"n={_escaped(user)},r={nonce}{extensions}"
        self._signature = b""

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def final(self, answer: bytes) -> bytes:
        """Return the final message for the server's first one. Raises RefusedByServer."""
        text = answer.decode(errors="replace")
        parts = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
        try:
            nonce, salt, iterations = parts["r"], b64decode(parts["s"]), int(parts["i"])
        except (KeyError, ValueError):
            raise RefusedByServer(f"the server's first message is malformed: {text!r}") from None
        if not nonce.startswith(self._nonce):
            raise RefusedByServer("the server's nonce does not begin with the client's")
        password = salted(self._mechanism, self._password, salt, iterations)
        without_proof = f"c=biws,r={nonce}"
        message = f"{self._bare},{text},{without_proof}".encode()
        key = hmac.digest(password, b"Client Key", self._hash)
        signature = hmac.digest(new_hash(self._hash, key).digest(), message, self._hash)
        self._signature = hmac.digest(hmac.digest(password, b"Server Key", self._hash), message, self._hash)
        proof = bytes(left ^ right for left, right in zip(key, signature, strict=True))
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def check(self, answer: bytes) -> None:
        """Check that the server knows the password, by its final message. Raises RefusedByServer."""
        if answer != b"v=" + b64encode(self._signature):
            raise RefusedByServer("the server does not know the password")


def _escaped(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")
