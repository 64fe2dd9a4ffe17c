"""The order in which a client authenticates itself on one connection of a SASL listener, without IO.

A client may ask ApiVersions once, then names a mechanism (SaslHandshake) and sends its tokens: in SaslAuthenticate requests after a
handshake of version 1 (KIP-152), as bare frames after one of version 0. If its session has an end, it authenticates itself again before
that (KIP-368). What Kafka does with each deviation is in docs/kafka/security.md (SEC-01 to SEC-24, SEC-50 to SEC-59); the class is
org.apache.kafka.common.security.authenticator.SaslServerAuthenticator.

A failed authentication is answered and closed after a pause (`connection.failed.authentication.delay.ms`), so that guessing is slow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from groupmock_codec import error_codes
from groupmock_codec.api_keys import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from groupmock_codec.messages.k17_sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from groupmock_codec.messages.k36_sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from groupmock_codec.units import NS_PER_MS, NS_PER_S

from .outcomes import Accepted, Broken, Continues, Denied, invalid
from .unwelcome import UnwelcomeExchange

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from .outcomes import Exchange, Outcome
    from .settings import ListenerSettings

LEAST_PAUSE_NS: Final = NS_PER_S
"""A second re-authentication within this time is none: its handshake is refused, and the session goes on (KafkaChannel)."""
LONGEST_MS: Final = (2**63 - 1) // NS_PER_MS
"""A longer session cannot be counted in nanoseconds (org.apache.kafka.common.utils.Utils.msToNs)."""
LONGEST_NAME: Final = 1024
"""A longer user name is refused, because every connection keeps its principal. A token of SASL may have half a megabyte, and with
`--sasl any` or unsecured tokens nobody has checked the name. Kafka keeps names of any length."""
LONGEST_REASON: Final = 200
"""At most this many characters of a reason are written."""
BEFORE: Final = "a request before the SASL handshake: the client does not use SASL: set security.protocol to that of this listener"


class State(Enum):
    """The progress of the authentication on a connection."""

    NEW = auto()
    MECHANISM_CHOSEN = auto()
    BARE_TOKENS = auto()
    """The handshake had version 0, so that the next frames are tokens."""
    AUTHENTICATED = auto()
    FAILED = auto()
    """The connection is closed as soon as the pause is over."""


class Answer(NamedTuple):
    """The request is answered with this message. `close` is the reason for which the connection is closed then, or None. With
    `late` both happen after the pause."""

    message: Message
    close: str | None = None
    late: bool = False


class Closes(NamedTuple):
    """The connection is closed without an answer, after the pause if `late`. `before`: the client has not chosen a mechanism."""

    why: str
    late: bool = False
    before: bool = False


class BareAnswer(NamedTuple):
    """A bare token is answered with these bytes, framed."""

    data: bytes


class Authenticator:
    """`mechanisms` makes an exchange for each enabled mechanism, in the order of the answer to a handshake. `wall_ms` converts run time
    (ns) to ms since 1970."""

    def __init__(
        self,
        mechanisms: Mapping[str, Callable[[], Exchange]],
        settings: ListenerSettings,
        wall_ms: Callable[[int], int],
    ) -> None:
        self._mechanisms = mechanisms
        self._settings = settings
        self._wall_ms = wall_ms
        self.state = State.NEW
        self.principal: str | None = None
        """The principal, such as User:alice, once the client has authenticated itself."""
        self.mechanism = ""
        self.ends: int | None = None
        """The run time (ns) at which the session ends, or None if it does not end."""
        self.why: str | None = None
        """The reason why the last authentication failed."""
        self.unwelcome: str | None = None
        """The reason why the authentication that begins next is refused, whatever the credentials are."""
        self._exchange: Exchange | None = None
        self._versions_seen = False
        self._again = False  # True while an authenticated client authenticates itself again.
        self._began_again: int | None = None
        self._other_mechanism = False

    @property
    def untrusted(self) -> bool:
        """True until the client has authenticated itself for the first time."""
        return self.principal is None

    def refuses(self, key: int, now: int) -> Closes | None:
        """Say whether a request of this API closes the connection before it is read."""
        if self.state is State.NEW and key not in (API_VERSIONS, SASL_HANDSHAKE):
            return Closes(BEFORE, before=True)
        if self.state is State.NEW and key == API_VERSIONS and self._versions_seen:
            return Closes("a second ApiVersions request before the SASL handshake")
        if self.state is State.AUTHENTICATED and self.ends is not None and now > self.ends and key != SASL_HANDSHAKE:
            return Closes("the session has ended: the client has to authenticate itself again (connections.max.reauth.ms, or its token)")
        return None

    def versions_told(self) -> None:
        """Note that the client got the answer to ApiVersions, for which it may not ask again before its handshake."""
        self._versions_seen = True

    def belongs(self, key: int, now: int) -> bool:
        """Say whether a request of this API is part of an authentication, which `answer` would handle."""
        if self.state is State.AUTHENTICATED:
            return key == SASL_HANDSHAKE and self._may_begin_again(now)
        return key == SASL_HANDSHAKE or self.state is not State.NEW

    def answer(self, key: int, version: int, message: Message, refusal: Callable[[int], Message], now: int) -> Answer | Closes | None:
        """Handle a request as far as it belongs to the authentication. None: it goes on to the cluster. `refusal` makes the answer that
        refuses this request with an error code."""
        if self.state is State.AUTHENTICATED:
            if key != SASL_HANDSHAKE:
                return None
            begun = self._handshake_again(version, message, now)
            self.unwelcome = None  # A re-authentication that comes too early is none.
            return begun
        if self.state is State.NEW:
            return self._handshake(version, message) if key == SASL_HANDSHAKE else None
        if key == SASL_AUTHENTICATE and isinstance(message, SaslAuthenticateRequest):
            return self._token(message.auth_bytes, now)
        self.state = State.FAILED
        self.why = "a request instead of the SASL token"
        if key == SASL_HANDSHAKE:
            self.why = "a second SASL handshake instead of a token"
            return Answer(SaslHandshakeResponse(error_code=error_codes.ILLEGAL_SASL_STATE), self.why, True)
        return Answer(refusal(error_codes.ILLEGAL_SASL_STATE), self.why, True)

    def bare_token(self, token: bytes, now: int) -> BareAnswer | Closes:
        """Handle a frame that is a token."""
        outcome = self._take(token)
        if isinstance(outcome, Continues):
            return BareAnswer(outcome.data)
        if not isinstance(outcome, Accepted):
            self.state = State.FAILED
            return Closes(self._failure(outcome), late=isinstance(outcome, Denied) and outcome.named)
        refused = self._admit(outcome, now)
        if refused is None:
            return BareAnswer(outcome.data)
        self.state = State.FAILED
        return Closes(self._failure(refused), late=True)

    def _handshake(self, version: int, message: Message) -> Answer | Closes:
        assert isinstance(message, SaslHandshakeRequest)
        make = self._mechanisms.get(message.mechanism)
        enabled = list(self._mechanisms)
        if make is None:
            self.why = f"SASL mechanism {_brief(message.mechanism)!r} is not enabled: {', '.join(enabled) or 'none is'}"
            self.state = State.FAILED
            if self._again:
                return Closes(self.why)
            answer = SaslHandshakeResponse(error_code=error_codes.UNSUPPORTED_SASL_MECHANISM, mechanisms=enabled)
            return Answer(answer, self.why, True)
        self._other_mechanism = self._again and message.mechanism != self.mechanism
        self.mechanism = message.mechanism if not self._again else self.mechanism
        self._exchange = make()
        if self.unwelcome is not None:
            self._exchange, self.unwelcome = UnwelcomeExchange(self._exchange, message.mechanism, self.unwelcome), None
        self.state = State.MECHANISM_CHOSEN if version else State.BARE_TOKENS
        return Answer(SaslHandshakeResponse(mechanisms=enabled))

    def _may_begin_again(self, now: int) -> bool:
        return self.ends is not None and (self._began_again is None or now - self._began_again >= LEAST_PAUSE_NS)

    def _handshake_again(self, version: int, message: Message, now: int) -> Answer | Closes | None:
        """Begin a re-authentication, if the session has an end and the last one did not begin a moment ago."""
        if not self._may_begin_again(now):
            return None
        self._began_again, self._again, self.state = now, True, State.NEW
        return self._handshake(version, message)

    def _token(self, token: bytes, now: int) -> Answer | Closes:
        if self._other_mechanism:
            self.state = State.FAILED
            self.why = "the client changed its SASL mechanism when it authenticated itself again"
            return Closes(self.why, late=True)
        outcome = self._take(token)
        if isinstance(outcome, Continues):
            return Answer(SaslAuthenticateResponse(auth_bytes=outcome.data))
        if isinstance(outcome, Accepted):
            refused = self._admit(outcome, now)
            if refused is None:
                lifetime = 0 if self.ends is None else (self.ends - now) // NS_PER_MS
                return Answer(SaslAuthenticateResponse(auth_bytes=outcome.data, session_lifetime_ms=lifetime))
            outcome = refused
        self.state = State.FAILED
        why = self._failure(outcome)
        if isinstance(outcome, Denied):
            refusal = SaslAuthenticateResponse(error_code=error_codes.SASL_AUTHENTICATION_FAILED, error_message=outcome.text)
            return Answer(refusal, why, True)
        return Closes(why)

    def _take(self, token: bytes) -> Outcome:
        assert self._exchange is not None
        return self._exchange.take(token)

    def _failure(self, outcome: Outcome) -> str:
        why = outcome.why if isinstance(outcome, Denied | Broken) else "the authentication failed"
        self.why = f"SASL authentication ({self.mechanism}) failed: {_brief(why)}"
        return self.why

    def _admit(self, accepted: Accepted, now: int) -> Denied | Broken | None:
        """Let the client in, unless its name is too long, or it now says that it is somebody else, or its token ends too late for Kafka to
        compute with it."""
        if len(accepted.name) > LONGEST_NAME:
            return invalid(self.mechanism, f"a user name of {len(accepted.name)} characters, more than the {LONGEST_NAME} that are kept")
        principal = f"User:{accepted.name}"
        if self.principal not in (None, principal):
            text = f"Cannot change principals during re-authentication from {_dotted(self.principal)}: {_dotted(principal)}"
            return Denied(text, f"{principal} instead of {self.principal} authenticated itself again")
        ends = [] if accepted.expires_ms is None else [max(accepted.expires_ms - self._wall_ms(now), 0)]
        if longest := self._settings.of(self.mechanism).connections_max_reauth_ms:
            ends.append(longest)
        if ends and min(ends) > LONGEST_MS:
            return Broken(f"the session would last more than {LONGEST_MS} ms")
        self.ends = now + min(ends) * NS_PER_MS if ends else None
        self.principal, self.state, self._exchange, self.why = principal, State.AUTHENTICATED, None, None
        return None


def _brief(text: str) -> str:
    """Return a text for rows and the log, in which a peer may have put a name of half a megabyte."""
    return text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}..."


def _dotted(principal: str | None) -> str:
    """Return a principal as this one text of Kafka's has it: User.alice."""
    return (principal or "").replace(":", ".", 1)
