"""Infer why clients were not let in by TLS or SASL and which rights they lack, for lines about likely causes, timelines and the live page.

What is known of a client that was not let in is why its connection was closed, and its client id if it has sent a request. A cause is not
told if a fault rule made it, or if the client has authenticated itself later. A missing right is told until rules of the authorizer change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..journal.dispatch import RowReader, takes
from ..journal.rows import AUTHENTICATED, CloseRow, CommandRow, FaultRow, NoteRow, OpenRow, ReplyRow, RequestRow, TimerRow
from .sentences import of_denied
from .words import seconds, text

LONGEST: Final = 200
"""At most this many characters of a reason are told."""
KEPT: Final = 1000
"""At most this many causes, connections and client ids are remembered, each."""
CERTIFICATE: Final = "show_certificate"
"""The kind of the fault that shows a certificate which no correct client accepts."""
GIVES_RIGHTS: Final = ("allow", "remove_acls")
"""Commands after which clients may have the rights that they lacked."""
CHANGES_RIGHTS: Final = ("CreateAcls", "DeleteAcls")
RETURNS: Final = "right_returns"
"""The timer that gives a right back."""
ALLOW_IT: Final = "Allow it (`Broker.allow`, `groupmock acl allow`)"
FAULT: Final = 'fault rule "'
SIGNS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), told)
    for pattern, told in (
        (
            "a TLS hello instead of a request",
            "spoke TLS{at} to listener {listener}, which has none. Set security.protocol to PLAINTEXT, or SASL_PLAINTEXT with SASL",
        ),
        (
            "plain bytes instead of a TLS handshake",
            "sent plain bytes{at} to listener {listener}, which has TLS. Set security.protocol to SSL, or SASL_SSL with SASL",
        ),
        (
            "the TLS handshake failed: the client does not trust",
            "does not trust the certificate of listener {listener}{at}. Give it the authority (ca.pem, `Broker.security`)",
        ),
        ("the TLS handshake failed: (?P<why>.*)", "got no further than the TLS handshake with listener {listener}{at}: {why}"),
        (
            "a request before the SASL handshake",
            "did not authenticate itself on listener {listener}{at}. Set security.protocol to that of the listener, with SASL",
        ),
        (
            "SASL mechanism (?P<why>.*) is not enabled: (?P<enabled>.*)",
            "asked{at} for SASL mechanism {why}, which is not enabled. Set sasl.mechanism to one of {enabled}",
        ),
        (
            "SASL authentication .* failed: (?P<why>user .* has (another password|no credential).*)",
            "has a wrong user name or password{at}: {why}. Give it those of `--user` or `Broker.set_user`",
        ),
        (
            "SASL authentication .* failed: the token is not valid: (?P<why>.*)",
            "sent a token that is not valid{at}: {why}. Let it get a new one",
        ),
        ("SASL authentication .* failed: (?P<why>.*)", "could not authenticate itself{at}: {why}"),
        (
            "the session has ended",
            "sent a request after its SASL session had ended{at}. Let it authenticate itself again in time, with a token that is valid",
        ),
    )
)
"""The reasons for which the server closes a connection, and what each says of a client. The first that matches counts."""


class NotLetIn(RowReader):
    """Collects from rows which clients were not let in, and which rights clients lack."""

    def __init__(self) -> None:
        self._opened: dict[int, tuple[str, str]] = {}  # Maps open connections to their hosts and listeners.
        self._clients: dict[int, str] = {}  # Maps open connections to client ids.
        self._on_purpose: set[int] = set()  # Open connections that a fault rule has shown another certificate.
        self._found: dict[tuple[str, str], str] = {}  # Maps a client and the cause without its details to the sentence.
        self._lacking: dict[tuple[str, str], str] = {}  # Maps a client and the right that it lacks to the sentence.

    def likely(self) -> Iterator[str]:
        """Yield a sentence for each client that was not let in and cause."""
        yield from self._found.values()

    def sentences(self) -> list[str]:
        """Return a sentence for each client that was not let in, or lacks a right."""
        return [*self._found.values(), *self._lacking.values()]

    @takes
    def _open(self, row: OpenRow) -> None:
        if len(self._opened) < KEPT:
            self._opened[row.connection] = row.client_host.lstrip("/"), row.listener

    @takes
    def _request(self, row: RequestRow) -> None:
        if row.client_id and row.connection in self._opened:
            self._clients[row.connection] = row.client_id

    @takes
    def _fault(self, row: FaultRow) -> None:
        if row.action == CERTIFICATE and row.connection in self._opened:
            self._on_purpose.add(row.connection)

    @takes
    def _command(self, row: CommandRow) -> None:
        if row.name in GIVES_RIGHTS:
            self._lacking.clear()

    @takes
    def _timer(self, row: TimerRow) -> None:
        if row.timer == RETURNS:
            self._lacking.clear()

    @takes
    def _reply(self, row: ReplyRow) -> None:
        if row.api_name in CHANGES_RIGHTS:
            self._lacking.clear()

    @takes
    def _note(self, row: NoteRow) -> None:
        if (right := of_denied(row)) is not None and len(self._lacking) < KEPT:
            client = self._clients.get(row.fields["connection"])
            who = f"client {text(client)}" if client is not None else "a client"
            self._lacking.setdefault((who, right), f"{who} lacks a right at {seconds(row.t)}: {right}. {ALLOW_IT}")
        elif row.what == AUTHENTICATED and (client := self._clients.get(row.fields.get("connection", 0))) is not None:
            self._found = {key: told for key, told in self._found.items() if key[0] != client}

    @takes
    def _closed(self, row: CloseRow) -> None:
        host, listener = self._opened.pop(row.connection, ("", ""))
        client, on_purpose = self._clients.pop(row.connection, None), row.connection in self._on_purpose
        self._on_purpose.discard(row.connection)
        if row.by != "server" or not host or on_purpose or FAULT in row.reason:
            return
        who = f"client {text(client)}" if client is not None else f"a client from {text(host)}"
        for sign, told in SIGNS:
            if (found := sign.match(row.reason)) is not None:
                more = {name: text(value, LONGEST) for name, value in found.groupdict().items()}
                if len(self._found) < KEPT:
                    sentence = told.format(listener=text(listener), at=f" at {seconds(row.t)}", **more)
                    self._found.setdefault((client or "", f"{who} {told}"), f"{who} {sentence}")
                return
