"""All secured listeners of a server share TLS, SASL mechanisms and users. This module makes the protocol of each accepted connection."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from ..core.java.hashes import java_hash
from ..core.java.orders import java_order
from ..journal.rows import AUTHENTICATED
from ..security.authenticator import Authenticator
from ..security.oauthbearer import NAME as OAUTHBEARER
from ..security.oauthbearer import BearerExchange
from ..security.plain import NAME as PLAIN
from ..security.plain import PlainExchange
from ..security.principals import NoPrincipal, Rule, distinguished_name, mapped, rules_of
from ..security.scram import NUMBERS, Keys, ScramExchange, keys_of, salted
from ..security.settings import WITH_SASL, WITH_TLS
from ..security.tokens import anything, unsecured
from .guard import Guard

if TYPE_CHECKING:
    import asyncio
    import ssl

    from ..core.scram import Credentials
    from ..security.oauthbearer import Bearer
    from ..security.outcomes import Exchange
    from ..security.settings import ListenerSettings
    from .connection import Connection
    from .driver import Driver
    from .tls import Handshakes

NONCE_BITS: Final = 130
DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
ANY_BUT_SCRAM: Final = ": --sasl any does not cover SCRAM, in which the server proves that it knows the password: name the user with --user"
MOST_KEYS: Final = 1000
"""Derived keys of at most this many passwords are kept, because deriving them takes 2 ms each."""

Check = Callable[[str, int], "Bearer"]
"""Checks a bearer token at a wall clock time (ms since 1970). Raises BadToken."""


class _Listener(NamedTuple):
    """All connections of a listener share these parts. `rules` make principals of the names in certificates."""

    settings: ListenerSettings
    rules: tuple[Rule, ...]
    mechanisms: dict[str, Callable[[], Exchange]]


class Secured:
    """The listeners of one server that have TLS or SASL, with the settings of each. `any_user` accepts any user with PLAIN and any token
    with OAUTHBEARER, except on listeners that have a check of their own for tokens (`checks`). `contexts` has the TLS of listeners with
    TLS."""

    def __init__(
        self,
        listeners: Mapping[str, ListenerSettings],
        credentials: Credentials,
        wall_ms: Callable[[int], int],
        now: Callable[[], int],
        *,
        any_user: bool = False,
        contexts: Mapping[str, ssl.SSLContext] | None = None,
        checks: Mapping[str, Check] | None = None,
        handshakes: Handshakes | None = None,
        with_fault: Callable[[str], ssl.SSLContext] | None = None,
    ) -> None:
        self._credentials = credentials
        self._wall_ms = wall_ms
        self._now = now
        self._any_user = any_user
        self._contexts = contexts or {}
        self._handshakes = handshakes
        self._with_fault = with_fault
        self.shows_certificates = not contexts or with_fault is not None
        """False if nobody can make the certificates that fault rules show."""
        self._derived: dict[tuple[int, str, str], Keys] = {}
        self._listeners = {name: self._listener(each, (checks or {}).get(name)) for name, each in listeners.items()}

    def protocol(self, connection: Connection, driver: Driver, security: str) -> asyncio.Protocol:
        """Return the protocol for the socket of a connection to a listener with this security protocol."""
        if security in WITH_SASL:
            self.guard(connection, driver)
        if security not in WITH_TLS:
            return connection
        from .tls import Handshakes, TlsTransport  # Nothing of TLS is loaded before somebody needs it.

        if self._handshakes is None:
            self._handshakes = Handshakes()
        context = self._contexts[connection.listener]
        return TlsTransport(connection, context, self._handshakes, partial(self._known, driver), self._with_fault)

    def guard(self, connection: Connection, driver: Driver) -> None:
        """Ask the client of a connection to authenticate itself."""
        listener = self._listeners[connection.listener]
        authenticator = Authenticator(listener.mechanisms, listener.settings, self._wall_ms)
        connection.guard = Guard(connection, driver, authenticator, listener.settings.settings)

    def _listener(self, settings: ListenerSettings, check: Check | None) -> _Listener:
        check = check or (anything if self._any_user else unsecured)
        makers: dict[str, Callable[[], Exchange]] = {
            PLAIN: partial(PlainExchange, self._matches),
            OAUTHBEARER: lambda: BearerExchange(lambda token: check(token, self._wall_ms(self._now()))),
            **{name: partial(self._scram_exchange, number) for name, number in NUMBERS.items()},
        }
        mechanisms = {name: makers[name] for name in java_order(settings.settings.mechanisms, java_hash)}
        return _Listener(settings, rules_of(settings.settings.ssl_principal_mapping_rules), mechanisms)

    def _known(self, driver: Driver, connection: Connection, certificate: bytes | None) -> str | None:
        """Give a connection the principal of its client's certificate, or return why it is closed. A client that authenticates itself by
        SASL gets its principal from that."""
        if certificate is None or connection.guard is not None:
            return None
        try:
            connection.principal = f"User:{mapped(distinguished_name(certificate), self._listeners[connection.listener].rules)}"
        except NoPrincipal as refused:
            return str(refused)
        driver.record.remark(
            AUTHENTICATED, self._now(), connection=connection.number, principal=connection.principal, mechanism="TLS certificate"
        )
        return None

    def _matches(self, user: str, password: str) -> bool:
        if self._any_user:
            return True
        kept = self._credentials.passwords.get(user)
        return kept is not None and secrets.compare_digest(kept.encode(), password.encode())

    def _scram_exchange(self, mechanism: int) -> Exchange:
        return ScramExchange(mechanism, partial(self._keys, mechanism), _nonce(), ANY_BUT_SCRAM if self._any_user else "")

    def _keys(self, mechanism: int, user: str) -> Keys | None:
        """Return what is kept of a user's password for a mechanism of SCRAM."""
        kept = self._credentials.secret(mechanism, user)
        if kept is None:
            return None
        if kept.password is None:
            return keys_of(mechanism, kept.salt, kept.iterations, kept.salted_password)
        known = self._derived.get((mechanism, user, kept.password))
        if known is None:
            if len(self._derived) >= MOST_KEYS:
                self._derived.clear()
            salt = secrets.token_bytes(16)
            known = keys_of(mechanism, salt, kept.iterations, salted(mechanism, kept.password, salt, kept.iterations))
            self._derived[mechanism, user, kept.password] = known
        return known


def _nonce() -> str:
    """Return the server's part of a nonce: a number in base 36, as Kafka's is."""
    number, text = secrets.randbits(NONCE_BITS), ""
    while number:
        number, digit = divmod(number, len(DIGITS))
        text = DIGITS[digit] + text
    return text or "0"
