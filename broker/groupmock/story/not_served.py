"""Describe clients that were never served, because they spoke TLS, asked for SASL, or only looked up brokers and coordinators.

Such a client reaches no group, so no group's story mentions it. Each kind of failure is one line with its number, its first and last time,
and its remedy. A client that made any other request was served and is left out, unless it requested something that groupmock does not have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from groupmock_codec.units import NS_PER_S

from ..journal.dispatch import RowReader, takes
from ..journal.read import UnknownRow
from ..journal.rows import NO_SASL, UNSERVED, CloseRow, NoteRow, OpenRow, ReplyRow, RequestRow, Row, remedy_of
from ..journal.whose import asks_again, field
from ..text.suggest import did_you_mean
from .causes import LIKELY
from .exchanged import items, named
from .folding import Line
from .not_let_in import ALLOW_IT, NotLetIn
from .sentences import of_denied
from .words import MOST, count, listed, seconds, shortened, text

KEPT: Final = 1000
"""At most this many clients, reasons and open connections are remembered, each."""
LOOKUPS: Final = frozenset(("ApiVersions", "Metadata", "FindCoordinator", "DescribeCluster"))
SASL: Final = frozenset(("SaslHandshake", "SaslAuthenticate"))
AGAIN: Final = 3
"""The least number of lookups for which a client gets a line if any client was served. Fewer lookups may be all that a client wanted."""
SILENT: Final = NS_PER_S
"""A client that only looked up brokers and has been silent for this time (ns) has given up or tries to connect."""
ADVERTISE: Final = "if it cannot reach that address, advertise another one (`Broker(advertise=...)`, `groupmock serve --advertise`)"


class Repeated:
    """Counts how often something happened, and from when until when (ns)."""

    def __init__(self, at: int) -> None:
        self.first = self.last = at
        self.times = 0

    def more(self, at: int) -> None:
        self.times += 1
        self.last = max(self.last, at)

    @property
    def until(self) -> str:
        """Return the words that tell until when the event was repeated, or "" if it happened once."""
        return f", until {seconds(self.last)}" if self.times > 1 else ""


class Client:
    """A client id that has sent only lookups. `sasl` has mechanisms, and `lookups` counts each kind of lookup. `coordinators` says whether
    it looked up any coordinator. `addresses` are those in the answers, `errors` those of the answers,
    `unknown` the topics that did not exist, and `denied` the rights that it lacks."""

    def __init__(self, at: int) -> None:
        self.seen = Repeated(at)
        self.sasl: dict[str, None] = {}
        self.lookups: dict[str, int] = {}
        self.coordinators = False
        self.addresses: dict[str, None] = {}
        self.errors: dict[str, None] = {}
        self.unknown: dict[str, None] = {}
        self.denied: dict[str, None] = {}


class NotServed(RowReader):
    """Collects clients that were never served from rows passed to `feed`; `lines` describes them at the end."""

    def __init__(self) -> None:
        self._hosts: dict[int, str] = {}  # Maps open connections to their hosts.
        self._answered: set[int] = set()  # Open connections that got an answer.
        self._secured: set[int] = set()  # Open connections whose listener asks for authentication.
        # Maps the server's reason for closing connections, and the host, to how often that happened.
        self._closed: dict[tuple[str, str], Repeated] = {}
        self._refused: dict[tuple[str, str], Repeated] = {}  # Maps an API name with its error, and the remedy, to how often that happened.
        self._clients: dict[str, Client] = {}
        self._served: dict[str, None] = {}
        self._asked: dict[int, Client] = {}  # Maps tickets of FindCoordinator requests to their clients.
        self._not_let_in = NotLetIn()
        self.connected = False
        """True once any client has connected."""

    def lines(self, whole: bool) -> list[Line]:
        """Return a line for each kind of failure, in the order of their first occurrences. `whole`: are these all rows of the run? Else
        what a client asked before is not known, and nothing is said of its lookups."""
        found = [Line(seen.first, f"{told}{seen.until} REFUSED: {remedy}") for (told, remedy), seen in self._refused.items()]
        found += [self._of_closed(reason, host, seen) for (reason, host), seen in self._closed.items()]
        found += [line for name, client in self._clients.items() for line in self._of_client(name, client, whole)]
        return sorted(found, key=lambda line: line.at)

    def likely(self, now: int, whole: bool, topics: Collection[str]) -> Iterator[str]:
        """Yield a line for each client that TLS or SASL did not let in, that lacks a right, that asks for a topic that does not exist, or
        that probably cannot reach an address: it looked for the coordinator, or nobody in the whole run got further than it, and it has
        asked nothing else for a while. `now` is in ns of the run, and `topics` has those that exist."""
        yield from (f"{LIKELY}{each}" for each in self._not_let_in.likely())
        for name, client in self._clients.items() if whole else ():
            who, until = f"client {text(name)}" if name else "a client without a name", seconds(client.seen.last)
            missing = [each for each in client.unknown if each not in topics]
            waits = now - client.seen.last >= SILENT or sum(client.lookups.values()) >= AGAIN
            if client.denied:
                yield f"{LIKELY}{who} lacks a right: {next(iter(client.denied))}. {ALLOW_IT}"
            elif missing:
                near = did_you_mean(missing[0], topics)
                told = f"{who} asks for topic {text(missing[0])}, which does not exist (Metadata until {until})"
                yield f"{LIKELY}{told}{f': {near}' if near else ''}"
            elif waits and client.addresses and not (client.errors or client.sasl) and (client.coordinators or not self._served):
                told = f"{who} cannot reach {listed(list(map(text, client.addresses)))}, which it was told until {until}"
                yield f"{LIKELY}{told}: it asked nothing else. Advertise an address that it can reach"

    def feed(self, row: Row | UnknownRow) -> None:
        self._not_let_in.feed(row)
        super().feed(row)

    # -- rows

    @takes
    def _opened(self, row: OpenRow) -> None:
        self.connected = True
        if len(self._hosts) < KEPT:
            self._hosts[row.connection] = row.client_host.lstrip("/")

    @takes
    def _ended(self, row: CloseRow) -> None:
        host, answered = self._hosts.pop(row.connection, None), row.connection in self._answered
        self._answered.discard(row.connection)
        secured = row.connection in self._secured
        self._secured.discard(row.connection)
        # The server closes its connections with this reason when the run is over.
        if host is None or row.by != "server" or row.reason.startswith("the server"):
            return
        if not answered or secured or row.reason in UNSERVED.values():
            _count(self._closed, (row.reason, host), row.t)

    @takes
    def _request(self, row: RequestRow) -> None:
        name = row.client_id or ""
        if row.by_listener:
            if row.connection in self._hosts:
                self._secured.add(row.connection)
        elif row.api_name not in LOOKUPS | SASL:
            self._clients.pop(name, None)
            if len(self._served) < KEPT:
                self._served[name] = None
        elif name not in self._served and (name in self._clients or max(len(self._clients), len(self._served)) < KEPT):
            client = self._clients.setdefault(name, Client(row.t))
            client.seen.more(row.t)
            _looks(client, row)
            if len(self._asked) < KEPT:
                self._asked[row.ticket] = client

    @takes
    def _reply(self, row: ReplyRow) -> None:
        if row.connection in self._hosts:
            self._answered.add(row.connection)
        remedy = remedy_of(row)
        if remedy is not None and row.api_name not in SASL:
            _count(self._refused, (f"{text(row.api_name)} ({row.error})", remedy), row.t)
        client = self._asked.pop(row.ticket, None)
        if client is None or row.api_name in SASL:
            return
        if row.error and not asks_again(row) and len(client.errors) < KEPT:
            client.errors[f"{row.api_name} {row.error}"] = None
        for topic in items(row.message, "topics") if row.api_name == "Metadata" and len(client.unknown) < KEPT else ():
            if named(field(topic, "error_code")) == "UNKNOWN_TOPIC_OR_PARTITION":
                client.unknown[str(field(topic, "name"))] = None
        brokers = items(row.message, "brokers") if row.api_name == "Metadata" else [row.message, *items(row.message, "coordinators")]
        for each in brokers if row.api_name in ("Metadata", "FindCoordinator") else ():
            host, port = field(each, "host"), field(each, "port")
            if host and named(field(each, "error_code")) is None and len(client.addresses) < KEPT:
                client.addresses[f"{host}:{port}"] = None

    @takes
    def _note(self, row: NoteRow) -> None:
        denied = of_denied(row)
        client = None if denied is None else self._asked.get(row.fields["ticket"])
        if denied is not None and client is not None and len(client.denied) < MOST:
            client.denied[denied] = None

    # -- words

    def _of_closed(self, reason: str, host: str, seen: Repeated) -> Line:
        return Line(seen.first, f"{count(seen.times, 'connection')} from {text(host)}{seen.until} closed: {shortened(reason)}")

    def _of_client(self, name: str, client: Client, whole: bool) -> Iterator[Line]:
        who = f"client {text(name)}" if name else "a client without a name"
        if client.sasl:
            asked = f"{who} asked for SASL ({listed(list(map(text, client.sasl)))}){client.seen.until}, REFUSED"
            yield Line(client.seen.first, f"{asked}: {NO_SASL}")
        elif whole and (client.coordinators or not self._served or sum(client.lookups.values()) >= AGAIN):
            looked = listed([f"{what} {count(times, 'time')}" for what, times in client.lookups.items()])
            what = f"{who} looked up {looked}{client.seen.until}"
            rights = f" ({listed(list(client.denied))})" if client.denied else ""
            if client.errors:
                refused = f"REFUSED: {listed(list(map(text, client.errors)))}{rights}"
                yield Line(client.seen.first, f"{what}, {refused}, and asked nothing else")
            elif client.addresses:
                yield Line(
                    client.seen.first, f"{what}, was told {listed(list(map(text, client.addresses)))}, and asked nothing else: {ADVERTISE}"
                )


def _looks(client: Client, row: RequestRow) -> None:
    if row.api_name == "SaslHandshake" and len(client.sasl) < MOST:
        client.sasl[str(field(row.message, "mechanism"))] = None
    elif row.api_name in SASL:
        client.sasl.setdefault("without a handshake")
    elif row.api_name in ("Metadata", "DescribeCluster"):
        client.lookups["the brokers"] = client.lookups.get("the brokers", 0) + 1
    elif row.api_name == "FindCoordinator" and len(client.lookups) < KEPT:
        client.coordinators = True
        what = _coordinator_of(row.message)
        client.lookups[what] = client.lookups.get(what, 0) + 1


def _coordinator_of(message: Any) -> str:
    keys = field(message, "coordinator_keys") or [field(message, "key")]
    kind = "the transactional id" if field(message, "key_type") == 1 else "group"
    return f"the coordinator of {kind} {text(keys[0])}"


def _count(kept: dict[tuple[str, str], Repeated], what: tuple[str, str], at: int) -> None:
    if what in kept or len(kept) < KEPT:
        kept.setdefault(what, Repeated(at)).more(at)
