"""A guard stands between a connection of a SASL listener and the driver: it decides which requests may pass, and answers those that belong
to the authentication.

Kafka accepts requests only from an authenticated connection: until then SocketServer's Processor passes what it reads to the channel's
authenticator. `security.authenticator` knows the order and the outcomes; the guard performs them. A frame is looked at before it is decoded
(`lets`), because a peer that nobody knows must not cost much. A request that passes goes through fault rules, rows and tickets as any
other, but `answers` handles it instead of the core if it belongs to the authentication. Then its row says `by_listener`.

Once the client has authenticated itself and its session has no end, the guard is gone: later handshakes reach the core, whose answers are
Kafka's (SEC-19). While the session has an end, heartbeats are repeated only until then.

Permissions are not checked here: each API checks them for each entity, so they belong to the core, which gets the principal.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from groupmock_codec import APIS
from groupmock_codec.api_keys import API_VERSIONS
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest
from groupmock_codec.units import NS_PER_MS

from ..core.apis.k18_api_versions import error_of
from ..core.effects import Lease, Note, Reply
from ..faults.refusals import refusal
from ..journal.rows import AUTHENTICATED
from ..security.authenticator import Closes, State

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..core.core import Core
    from ..core.effects import Effects
    from ..security.authenticator import Authenticator
    from ..security.settings import SecuritySettings
    from .call import Call
    from .clock import Clock
    from .connection import Connection

NO_KEY: Final = -1


class Performing(Protocol):
    """The part of the driver's interface that a guard needs."""

    core: Core
    clock: Clock

    def perform(self, effects: Effects, now: int) -> None: ...

    def refuse(self, connection: Connection, reason: str, now: int | None = None) -> None:
        """Close a connection for a request for which Kafka closes it."""

    def settle(self) -> None:
        """Finish the handling of an event."""


class Guard:
    """The guard of one connection, which sets the connection's principal and removes itself when it is not needed any more."""

    def __init__(self, connection: Connection, driver: Performing, authenticator: Authenticator, settings: SecuritySettings) -> None:
        self._connection = connection
        self._driver = driver
        self._authenticator = authenticator
        self._pause_ns = settings.connection_failed_authentication_delay_ms * NS_PER_MS
        connection.limit = min(connection.limit, settings.sasl_server_max_receive_size)

    def lets(self, frame: bytes) -> bool:
        authenticator, now = self._authenticator, self._driver.clock.now()
        if authenticator.state is State.BARE_TOKENS:
            self._bare(frame, now)
            return False
        key = int.from_bytes(frame[:2], "big", signed=True) if len(frame) > 1 else NO_KEY
        refused = authenticator.refuses(key, now)
        if refused is not None and refused.before and self._driver.core.environment.settings.quirks.first_request_without_sasl_closes_late:
            refused = refused._replace(late=True)
        if refused is not None:
            self._close(refused, now)
        return refused is None

    def belongs(self, key: int, now: int) -> bool:
        return self._authenticator.belongs(key, now)

    def answers(self, call: Call, now: int) -> Effects | None:
        codec, message, authenticator = call.codec, call.asked(), self._authenticator
        if codec.key == API_VERSIONS and authenticator.state is State.NEW:
            assert isinstance(message, ApiVersionsRequest)
            identity = self._driver.core.environment.identity
            if not error_of(codec.version, message, identity.cluster_id, self._connection.node):
                authenticator.versions_told()
            return None
        refused = partial(_refusal, codec.name, codec.version, message)
        before = authenticator.ends
        answer = authenticator.answer(codec.key, codec.version, message, refused, now)
        if answer is None:
            return None
        call.by_listener = True
        if isinstance(answer, Closes):
            self._close(answer, now)
            return []
        reply = Reply(call.ticket, answer.message)
        # The next token may cost a hash of thousands of rounds or the check of a signature, so that it waits for its turn.
        self._connection.slow = authenticator.state in (State.MECHANISM_CHOSEN, State.BARE_TOKENS)
        if answer.close is not None:
            self._after_pause(partial(self._fail, reply, answer.close), now)
            return []
        return [reply] if authenticator.state is not State.AUTHENTICATED else [self._admitted(now, before), reply]

    def until(self, lease: Lease) -> Lease:
        ends = self._authenticator.ends
        return lease if ends is None else Lease(lease.group, lease.member, lease.epoch, min(lease.until, ends))

    def bad_length(self, reason: str) -> None:
        untrusted = self._authenticator.untrusted
        if untrusted:
            reason = reason.replace("socket.request.max.bytes", "sasl.server.max.receive.size")
        self._close(Closes(reason, late=untrusted), self._driver.clock.now())

    def unwelcome(self, why: str) -> None:
        self._authenticator.unwelcome = why

    def _bare(self, token: bytes, now: int) -> None:
        answer = self._authenticator.bare_token(token, now)
        if isinstance(answer, Closes):
            self._close(answer, now)
            return
        self._connection.slow = self._authenticator.state is State.BARE_TOKENS
        if self._authenticator.state is State.AUTHENTICATED:
            self._driver.perform([self._admitted(now, None)], now)
        self._connection.answer(len(answer.data).to_bytes(4, "big") + answer.data)

    def _admitted(self, now: int, before: int | None) -> Note:
        """Let the requests of an authenticated client through, and return the effect that writes a row about it."""
        authenticator, connection = self._authenticator, self._connection
        assert authenticator.principal is not None
        connection.admitted(authenticator.principal)
        if authenticator.ends is None:
            connection.guard = None
        fields: dict[str, object] = {
            "connection": connection.number,
            "principal": authenticator.principal,
            "mechanism": authenticator.mechanism,
        }
        if authenticator.ends is not None:
            fields["session_ms"] = (authenticator.ends - now) // NS_PER_MS
        if before is not None:
            fields["again"] = True
        return Note(AUTHENTICATED, fields)

    def _close(self, closes: Closes, now: int) -> None:
        if closes.late:
            self._after_pause(partial(self._driver.refuse, self._connection, closes.why), now)
        else:
            self._driver.refuse(self._connection, closes.why, now)

    def _fail(self, reply: Reply, why: str) -> None:
        now = self._driver.clock.now()
        self._driver.perform([reply], now)
        self._driver.refuse(self._connection, why, now)

    def _after_pause(self, end: partial[None], now: int) -> None:
        """End the connection after the pause of a failed authentication, in which it handles nothing."""
        self._connection.hold_back()

        def ended() -> None:
            end()
            self._driver.settle()

        self._driver.clock.call_at(now + self._pause_ns, ended)


def _refusal(api: str, version: int, request: Message, code: int) -> Message:
    """Return the answer that refuses a request, without what only the real answer would have."""
    made = refusal(api, version, request, None, code)
    assert isinstance(made, APIS[api].response.message)
    return made


