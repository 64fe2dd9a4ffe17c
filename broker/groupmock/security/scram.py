"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677, KIP-84) from the server's side.

The messages that are accepted are those of org.apache.kafka.common.security.scram.internals.ScramMessages (SEC-31 to SEC-35 in
docs/kafka/security.md). A client is told the same text for everything that is wrong.
"""

from __future__ import annotations

import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import new as new_hash
from hashlib import pbkdf2_hmac
from typing import Final, NamedTuple

from .outcomes import SASL_NAME, Accepted, Broken, Continues, Outcome, invalid, other_identity

HASHES: Final = {1: "sha256", 2: "sha512"}
"""Maps Kafka's number of a mechanism (ScramMechanism) to its hash."""
NAMES: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
NUMBERS: Final = {name: number for number, name in NAMES.items()}

_VALUE: Final = r"[\x01-\x2b\x2d-\x7f]+"
_PRINTABLE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64: Final = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS: Final = rf"(?:,[A-Za-z]+={_VALUE})*"
FIRST: Final = re.compile(
    rf"n,(?:a=(?P<authorization>{SASL_NAME}))?,(?P<bare>(?:m={_VALUE},)?n=(?P<name>{SASL_NAME}),r=(?P<nonce>{_PRINTABLE})(?P<extensions>{_EXTENSIONS}))"
)
FINAL: Final = re.compile(rf"(?P<without_proof>c={_BASE64},r=(?P<nonce>{_PRINTABLE})){_EXTENSIONS},p=(?P<proof>{_BASE64})")
DELEGATION_TOKEN: Final = "tokenauth=true"
"""The extension of a client that authenticates with a delegation token (KIP-48), which nobody has here."""


class Keys(NamedTuple):
    """A server keeps these keys, and not the password."""

    salt: bytes
    iterations: int
    stored: bytes
    server: bytes


def keys_of(mechanism: int, salt: bytes, iterations: int, salted_password: bytes) -> Keys:
    """Derive the keys from a salted password, as the controller does when it gets one (AlterUserScramCredentials)."""
    hash_name = HASHES[mechanism]
    client = hmac.digest(salted_password, b"Client Key", hash_name)
    return Keys(salt, iterations, new_hash(hash_name, client).digest(), hmac.digest(salted_password, b"Server Key", hash_name))


def salted(mechanism: int, password: str, salt: bytes, iterations: int) -> bytes:
    """Return the salted password (PBKDF2). 4,096 iterations take about 2 ms."""
    return pbkdf2_hmac(HASHES[mechanism], password.encode(), salt, iterations)


class ScramExchange:
    """An exchange of four messages. `keys(user)` returns what is kept of a user's password for this mechanism, or None. `nonce` is the
    server's part of the nonce. `remedy` is added to the reason why an unknown user is refused."""

    def __init__(self, mechanism: int, keys: Callable[[str], Keys | None], nonce: str, remedy: str = "") -> None:
        self._mechanism = mechanism
        self._name = NAMES[mechanism]
        self._hash = HASHES[mechanism]
        self._keys = keys
        self._nonce = nonce
        self._remedy = remedy
        self._user = ""
        self._kept: Keys | None = None
        self._messages = ""

    def take(self, token: bytes) -> Outcome:
        text = token.decode(errors="replace")
        return self._first(text) if self._kept is None else self._final(text, self._kept)

    def _first(self, text: str) -> Outcome:
        found = FIRST.fullmatch(text)
        if found is None:
            return invalid(self._name, "the first message is malformed")
        if DELEGATION_TOKEN in found["extensions"].split(","):
            return invalid(self._name, "the client authenticates with a delegation token, which groupmock does not have")
        user = found["name"].replace("=2C", ",").replace("=3D", "=")
        kept = self._keys(user)
        if kept is None:
            return invalid(self._name, f"user {user} is unknown or has no credential for {self._name}{self._remedy}")
        authorization = found["authorization"]
        if authorization and authorization != user:
            return other_identity(f"user {user} asked to act as {authorization}")
        self._user, self._kept, self._nonce = user, kept, found["nonce"] + self._nonce
        answer = f"r={self._nonce},s={b64encode(kept.salt).decode()},i={kept.iterations}"
        self._messages = f"{found['bare']},{answer}"
        return Continues(answer.encode())

    def _final(self, text: str, kept: Keys) -> Outcome:
        found = FINAL.fullmatch(text)
        if found is None or found["nonce"] != self._nonce:
            return invalid(self._name, f"the final message of user {self._user} is malformed or has another nonce")
        # Kafka leaves extensions out of what is signed, which RFC 5802 does not.
        message = f"{self._messages},{found['without_proof']}".encode()
        signature = hmac.digest(kept.stored, message, self._hash)
        proof = b64decode(found["proof"])
        if len(proof) != len(signature):
            return Broken(f"the proof of user {self._user} has another length")
        client_key = bytes(left ^ right for left, right in zip(proof, signature, strict=True))
        if not hmac.compare_digest(new_hash(self._hash, client_key).digest(), kept.stored):
            return invalid(self._name, f"user {self._user} has another password")
        return Accepted(self._user, b"v=" + b64encode(hmac.digest(kept.server, message, self._hash)))
