"""Replay: a complete journal, played through the same core, must give the same journal.

What came from outside is taken from the rows (connections, whole frames with their times, commands, the moments at which time was
looked at, when answers were drained); everything else must come out again, row by row, field by field.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, BinaryIO, Final

import msgspec

from .clock import VirtualClock
from .core.effects import Reply
from .core.events import Command
from .core.ingredients import rebuild
from .core.settings import INT_MAX
from .journal.file import without_empty_tags
from .journal.journal import Journal, Repeated, Sink
from .journal.read import JournalReader as Source
from .journal.read import LeftOut, UnknownRow
from .journal.rows import DISCONNECTED, SURROUNDINGS, Header, Row
from .net.alarm import NoAlarm
from .net.backlog import Backlog
from .net.connection import Connection
from .net.driver import Driver
from .net.fault_gate import OVER
from .net.limits import Limits
from .net.turns import Turns

Fields = dict[str, Any]

NOT_REPLAYED: Final = frozenset(("cut_bytes", "unread_bytes"))
"""Bytes that never became a request are not in a journal."""
UNLIMITED: Final = Limits(request_max_elements=INT_MAX)
"""What is in a journal was within the limits of the broker that wrote it."""
LATER: Final = frozenset(("cause",))
"""Fields that rows did not have from the first: an older journal is compared without them."""
OF_ERRORS: Final = frozenset(("error", "errors", "errors_left_out"))
"""What an answer's row says of the errors in its message. Older rows have no `errors` and in `error` that of the whole alone; the message,
which has them all, is compared always."""


class CannotReplay(ValueError):
    """The journal does not hold what a replay needs; the text says what is missing."""


class RowDifference(msgspec.Struct):
    """The first row that came out otherwise. `got` None: nothing came."""

    seq: int
    expected: Fields
    got: Fields | None

    def __str__(self) -> str:
        if self.got is None:
            return f"row {self.seq} ({self.expected['kind']}) did not come again"
        names = [name for name in {**self.expected, **self.got} if self.expected.get(name) != self.got.get(name)]
        parts = (f"{name}: was {self.expected.get(name)!r}, is {self.got.get(name)!r}" for name in names)
        return f"row {self.seq} ({self.expected['kind']}) differs: " + "; ".join(parts)


class ReplayResult(msgspec.Struct):
    """`rows` were played; `difference` is None if all came out the same; `cut`: the journal's last line was not whole; `left_out`: the rows
    that a limit of its size kept out of the journal, which nobody can play: in words, `str(left_out)`."""

    rows: int
    difference: RowDifference | None
    cut: bool
    left_out: LeftOut | None = None


def replay(path: str | Path) -> ReplayResult:
    """Play a journal file. Raises CannotReplay, journal.read.NotAJournal, OSError."""
    with open(path, "rb") as file:
        return replay_of(file)


def replay_of(file: BinaryIO) -> ReplayResult:
    """The same of a journal that is open, or in memory."""
    source = Source(file)
    if not source.header.complete:
        raise CannotReplay(f"this journal is not complete: {source.header.incomplete_because or 'it does not say why'}")
    rows = [_fields(row) for row in source]
    if source.broken:
        raise CannotReplay(f"line {source.broken[0].line} is no row: {source.broken[0].reason}")
    result = _Player(source.header, rows).play(source.cut is not None)
    return msgspec.structs.replace(result, left_out=source.left_out)


class _Produced(Sink):
    """The sink of the second run: rows as they would be read back. The header is not compared: it is what this run was made of."""

    routine = True
    heartbeats = True
    details = True

    def __init__(self) -> None:
        self.rows: list[Fields] = []
        self._encode = msgspec.json.Encoder().encode

    def take(self, row: Row) -> None:
        self.rows.append(msgspec.json.decode(without_empty_tags(self._encode(row))))

    def take_repeated(self, repeated: Repeated) -> None:
        raise AssertionError("a replay has no leases")


class _Recorded(Backlog):
    """Answers that came as one effect are sent when the journal says they were: as many as it has at this place."""

    def __init__(self, expects: Callable[[Reply, int], bool]) -> None:
        super().__init__(None)
        self._expects = expects
        self._next: Reply | None = None

    def send(self, answer: Callable[[Reply, int], None], now: int, more: Iterator[Reply] | None = None) -> None:
        """See `Backlog.send`."""
        if more is not None:
            self.waiting.append(more)
        while self.waiting:
            reply = self._next = self._next or self.take()
            if reply is not None:
                if not self._expects(reply, now):
                    return
                self._next = None
                answer(reply, now)


class _Player:
    def __init__(self, header: Header, rows: list[Fields]) -> None:
        if header.cluster is None:
            raise CannotReplay("the header does not say what the cluster was made of")
        try:
            core = rebuild(header.cluster, Random(header.seed))
        except msgspec.ValidationError as refusal:
            raise CannotReplay(f"the cluster in the header cannot be made again: {refusal}") from None
        self.clock = VirtualClock(header.epoch_ns)
        self.produced = _Produced()
        journal = Journal(header, [self.produced])
        backlog, turns, alarm = _Recorded(self.expects_reply), Turns[Connection](None), NoAlarm()
        self.driver = Driver(core, self.clock, journal, UNLIMITED, backlog=backlog, turns=turns, alarm=alarm)
        self.driver.use_leases(False)
        self.expected = rows
        self.connections: dict[int, Connection] = {}

    def play(self, cut: bool) -> ReplayResult:
        for place, row in enumerate(self.expected):
            if len(self.produced.rows) <= place:
                self.clock.move_to(row["t"])
                self._feed(row)
            elif _of_surroundings(row) and not _of_surroundings(self.produced.rows[place]):
                self._between(row, place)
            if len(self.produced.rows) <= place:
                return ReplayResult(place, RowDifference(row["seq"], row, None), cut)
            got = self.produced.rows[place]
            if _compared(got, row) != _compared(row, row):
                return ReplayResult(place, RowDifference(row["seq"], row, got), cut)
        return ReplayResult(len(self.expected), None, cut)

    def expects_reply(self, reply: Reply, now: int) -> bool:
        # A peer may stop reading between two answers of one effect, and another effect's rows come behind the second
        while (place := len(self.produced.rows)) < len(self.expected) and _of_surroundings(self.expected[place]):
            self._as_it_was(self.expected[place])
        if place >= len(self.expected):
            return False
        row = self.expected[place]
        return bool(row["kind"] in ("reply", "fault") and row.get("ticket") == reply.ticket and row["t"] == now)

    def _feed(self, row: Fields) -> None:
        """What came from outside here? Nothing, if a row that should have come of itself is due."""
        feeding = getattr(self, f"_feed_{row['kind']}", None)
        if feeding is not None:
            feeding(row)

    def _feed_open(self, row: Fields) -> None:
        connection = Connection(self.driver, row["connection"], row["node"], row["client_host"], row["client_port"])
        self.connections[connection.number] = connection
        self.driver.opened(connection)

    def _feed_request(self, row: Fields) -> None:
        self.driver.request(self.connections[row["connection"]], b64decode(row["raw"]), row["received"])

    def _feed_reply(self, row: Fields) -> None:
        self.driver.drain(row["t"])

    def _feed_fault(self, row: Fields) -> None:
        """A wait is over; or the answer that a rule strikes is due."""
        if row["action"] == OVER:
            self.driver.rules.over(row["ticket"], row["t"])
        elif row["stage"] == "reply":
            self.driver.drain(row["t"])

    def _feed_close(self, row: Fields) -> None:
        """The client's doing, or ours because of bytes that are no request, of time or of the end: the row is the event."""
        connection = self.connections[row["connection"]]
        self._as_it_was(row)
        connection.shut()
        if row["by"] == "client":
            self.driver.forget(connection, row["t"])

    def _feed_timer(self, row: Fields) -> None:
        self.driver.expire(row["t"])

    def _feed_command(self, row: Fields) -> None:
        arguments = {
            name: b64decode(value["base64"]) if isinstance(value, dict) and value.keys() == {"base64"} else value
            for name, value in row["arguments"].items()
        }
        self.driver.submit(Command(row["name"], arguments))

    def _feed_note(self, row: Fields) -> None:
        if _of_surroundings(row):
            self._as_it_was(row)
        elif row["what"] == DISCONNECTED:
            self.driver.lost(self.connections[row["fields"]["connection"]], None)

    def _feed_client(self, row: Fields) -> None:
        """A client's own words, which the core never heard."""
        self._as_it_was(row)

    def _feed_finding(self, row: Fields) -> None:
        """What an audit made of other rows."""
        self._as_it_was(row)

    def _between(self, row: Fields, place: int) -> None:
        """A peer may stop reading in the midst of an entry: of two answers the first fills its buffer. All that the entry made is there
        already, numbered as if nothing had come between."""
        self.driver.journal.sequence += 1
        number = self.produced.rows[place]["seq"]
        self.produced.rows[place:] = [{**row, "seq": number}, *({**later, "seq": later["seq"] + 1} for later in self.produced.rows[place:])]

    def _as_it_was(self, row: Fields) -> None:
        self.driver.journal.sequence += 1
        self.produced.rows.append({**row, "seq": self.driver.journal.sequence})


def _fields(row: Row | UnknownRow) -> Fields:
    """As it stands in the file."""
    if isinstance(row, UnknownRow):
        raise CannotReplay(f"row {row.seq} is of a kind that this version does not know: {row.kind}")
    fields: Fields = msgspec.json.decode(without_empty_tags(msgspec.json.encode(row)))
    return fields


def _of_surroundings(row: Fields) -> bool:
    return bool(row["kind"] == "finding" or (row["kind"] == "note" and row["what"] in SURROUNDINGS))


def _compared(row: Fields, recorded: Fields) -> Fields:
    """A row without what a replay cannot know, tracebacks among it, and without what the journal is too old to have."""
    unknown = NOT_REPLAYED | (LATER - recorded.keys()) | (OF_ERRORS if "errors" not in recorded else frozenset())
    kept = {name: value for name, value in row.items() if name not in unknown}
    if isinstance(fields := kept.get("fields"), dict) and "traceback" in fields:
        kept["fields"] = {name: value for name, value in fields.items() if name != "traceback"}
    return kept
