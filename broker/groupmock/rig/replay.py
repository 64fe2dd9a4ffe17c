"""A replay feeds the input of a complete journal to a core with the same settings and seed, which must produce the same journal.

The input from outside is taken from the rows: connections, whole frames with their times, commands, and the moments at which timers were
checked and answers were sent. All other rows must be produced again, field by field. The journal is compared while it is read, and both
rows are dropped after each comparison.
"""

from __future__ import annotations

from base64 import b64decode
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from groupmock_codec import APIS, extras
from groupmock_codec.extras import opens_all, pip_install

from ..config.limits import Limits
from ..core.effects import Reply
from ..core.events import PLAINTEXT, Command
from ..core.ingredients import rebuild
from ..core.setting_declarations import INT_MAX
from ..journal.file import without_empty_tags
from ..journal.journal import Journal, Repeated, Sink
from ..journal.read import JournalReader as Source
from ..journal.read import LeftOut, UnknownRow
from ..journal.rows import AUTHENTICATED, DISCONNECTED, GOES_ON, PAUSES, SURROUNDINGS, Header, Row
from ..journal.source import opened
from ..net.backlog import Backlog
from ..net.clock import NoAlarm, VirtualClock
from ..net.connection import Connection
from ..net.driver import Driver
from ..net.fault_gate import OVER
from ..net.slices import Slices
from ..net.turns import Turns

if TYPE_CHECKING:
    from ..core.effects import Effects, Lease
    from ..net.call import Call

Fields = dict[str, Any]

NOT_REPLAYED: Final = frozenset(("cut_bytes", "unread_bytes", "written"))
"""Fields that a replay cannot produce: counts of bytes which never became a request, because the journal lacks these bytes, and the time at
which an answer was written."""
SHOWN: Final = 8
"""The text of a difference shows at most this many fields."""
SHOWN_LENGTH: Final = 200
"""The text of a difference shows at most this many characters of a value."""
UNLIMITED: Final = Limits(request_max_elements=INT_MAX)
"""A replay has no limits, because its rows were within the limits of the broker that wrote them."""
LATER: Final = frozenset(("cause",))
"""Fields that were added after the first journals, so that they are ignored when an older journal is replayed."""
OF_ERRORS: Final = frozenset(("error", "errors", "errors_left_out"))
"""Fields of a reply's journal row that list the error codes in the reply's message. Older rows have no `errors`, and only the top-level
error in `error`. The message has all errors and is always compared."""


class CannotReplay(ValueError):
    """Raised if the journal lacks what a replay needs. The text says what is missing."""


class RowDifference(msgspec.Struct):
    """The first row that differs in the replay. `got` is None if the row did not come."""

    seq: int
    expected: Fields
    got: Fields | None

    def __str__(self) -> str:
        if self.got is None:
            return f"row {self.seq} ({self.expected['kind']}) did not come again"
        found = [f"{path}: was {_shown(was)}, is {_shown(now)}" for path, was, now in islice(_leaves(self.expected, self.got), SHOWN + 1)]
        more = "; and more" if len(found) > SHOWN else ""
        return f"row {self.seq} ({self.expected['kind']}) differs: {'; '.join(found[:SHOWN])}{more}"


def _leaves(expected: Any, actual: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the path and both values of each innermost difference between two values."""
    if expected == actual:
        return
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in {**expected, **actual}:
            yield from _leaves(expected.get(name), actual.get(name), f"{path}.{name}".lstrip("."))
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for place, (was, now) in enumerate(zip(expected, actual, strict=True)):
            yield from _leaves(was, now, f"{path}[{place}]")
    else:
        yield path, expected, actual


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}..."


class ReplayResult(msgspec.Struct):
    """The result of a replay. `rows` is the number of replayed rows, and `difference` is None if all were equal. `cut` says that the
    journal's last line was incomplete. `left_out` describes the rows that a size limit kept out of the journal (`str(left_out)`).
    `unfinished` says why rows may be missing after the last one (`JournalReader.unfinished`), and is None after a difference."""

    rows: int
    difference: RowDifference | None
    cut: bool
    left_out: LeftOut | None = None
    unfinished: str | None = None


def replay(path: str | Path) -> ReplayResult:
    """Replay a journal file, packed or not. Raises CannotReplay, journal.read.NotAJournal, OSError."""
    with opened(path) as file:
        return replay_of(file)


def replay_of(file: IO[bytes]) -> ReplayResult:
    """Replay a journal from an open file or from memory."""
    return replay_journal(Source(file))


def replay_journal(source: Source) -> ReplayResult:
    """Replay a journal whose header was already read."""
    if not source.header.complete:
        raise CannotReplay(f"this journal is not complete: {source.header.incomplete_because or 'it does not say why'}")
    player = _Player(source.header, _all_fields(source))
    difference = player.play()
    unfinished = source.unfinished if difference is None else None
    return ReplayResult(player.place, difference, source.cut is not None, source.left_out, unfinished)


class _Window:
    """Rows by their index in the run, beginning with the next row to compare."""

    def __init__(self, source: Iterable[Fields] = ()) -> None:
        self.rows: deque[Fields] = deque()
        self.first = 0
        self._source = iter(source)

    @property
    def end(self) -> int:
        """The index after the last row in this window."""
        return self.first + len(self.rows)

    def at(self, place: int) -> Fields | None:
        """Return the row with that index, or None if there are fewer rows."""
        while self.end <= place:
            row = next(self._source, None)
            if row is None:
                return None
            self.rows.append(row)
        return self.rows[place - self.first]

    def forget(self) -> None:
        """Drop the first row, because it has been compared."""
        self.rows.popleft()
        self.first += 1


class _Produced(Sink):
    """Collects the journal rows that the replay produces, to be compared with the recorded ones. It keeps rows as they would be read
    back. The header is not compared, because the replay is made from it."""

    routine = True
    heartbeats = True
    details = True

    def __init__(self) -> None:
        self.window = _Window()
        self._encode = msgspec.json.Encoder().encode

    def take(self, row: Row) -> None:
        self.window.rows.append(msgspec.json.decode(without_empty_tags(self._encode(row))))

    def take_repeated(self, repeated: Repeated) -> None:
        raise AssertionError("a replay has no leases")


class _Recorded(Backlog):
    """A backlog that sends the answers of one effect only when the next rows of the journal have these answers."""

    def __init__(self, expects: Callable[[Reply, int], bool]) -> None:
        super().__init__(None)
        self._expects = expects
        self._next: Reply | None = None

    def send(self, answer: Callable[[Reply, int], None], now: int, more: Iterator[Reply] | None = None) -> None:
        if more is not None:
            self.waiting.append(more)
        while self.waiting:
            reply = self._next = self._next or self.take()
            if reply is not None:
                if not self._expects(reply, now):
                    return
                self._next = None
                answer(reply, now)


class _Paused(Slices):
    """Ends each slice of long work where it ended in the recorded run."""

    def __init__(self, next_row: Callable[[], Fields | None]) -> None:
        super().__init__(None)
        self._next_row = next_row

    def over(self) -> bool:
        row = self._next_row()
        here = {"slice": self.number, "steps": self.steps}
        return row is not None and row["kind"] == "note" and row["what"] == PAUSES and row["fields"] == here

    def order(self) -> None:
        """Do nothing, because the journal says when the next slice begins."""


class _RecordedGuard:
    """Keeps requests that belonged to the authentication from the core. Their answers are taken from the journal, which has no secrets."""

    def __init__(self) -> None:
        self.by_listener = False
        """True if the next request belonged to the authentication."""

    def lets(self, frame: bytes) -> bool:
        return True

    def belongs(self, key: int, now: int) -> bool:
        return self.by_listener

    def answers(self, call: Call, now: int) -> Effects | None:
        if not call.recorded:  # A fault rule may have delayed the request, so that others came meanwhile.
            call.by_listener = self.by_listener
        return [] if call.by_listener else None

    def until(self, lease: Lease) -> Lease:
        return lease

    def bad_length(self, reason: str) -> None:
        raise AssertionError("a journal has no frame with a bad length")

    def unwelcome(self, why: str) -> None:
        """Do nothing, because the journal has the answers of the authentication."""


class _Player:
    def __init__(self, header: Header, rows: Iterable[Fields]) -> None:
        if header.cluster is None:
            raise CannotReplay("the header does not say what the cluster was made of")
        try:
            core = rebuild(header.cluster, Random(header.seed))
        except msgspec.ValidationError as refusal:
            raise CannotReplay(f"the cluster in the header cannot be made again: {refusal}") from None
        if core.environment.settings.compression_open and not opens_all():
            raise CannotReplay(f"its cluster opened packed records, which needs {extras.LIBRARY}: {pip_install('compression')}")
        self.clock = VirtualClock(header.epoch_ns)
        produced = _Produced()
        self.produced = produced.window
        journal = Journal(header, [produced])
        backlog, slices = _Recorded(self.expects_reply), _Paused(self.next_row)
        turns, alarm = Turns[Connection](None), NoAlarm()
        self.driver = Driver(core, self.clock, journal, UNLIMITED, backlog=backlog, slices=slices, turns=turns, alarm=alarm)
        self.driver.use_leases(False)
        self.expected = _Window(rows)
        self.connections: dict[int, Connection] = {}
        self._guard = _RecordedGuard()

    @property
    def place(self) -> int:
        """The number of rows that were equal so far."""
        return self.expected.first

    def play(self) -> RowDifference | None:
        """Replay to the end, or to the first row that differs."""
        while (row := self.expected.at(self.place)) is not None:
            if self.produced.end <= self.place:
                self.clock.move_to(row["t"])
                self._feed(row)
            elif _of_surroundings(row) and not _of_surroundings(self.produced.rows[0]):
                self._between(row)
            got = self.produced.at(self.place)
            if got is None or _compared(got, row) != _compared(row, row):
                return RowDifference(row["seq"], row, got)
            self.expected.forget()
            self.produced.forget()
        return None

    def next_row(self) -> Fields | None:
        """Return the next row that the replay has to produce."""
        # A peer may stop reading between two answers of one effect. The rows of other effects then follow the second answer.
        while (row := self.expected.at(self.produced.end)) is not None and _of_surroundings(row):
            self._copy(row)
        return row

    def expects_reply(self, reply: Reply, now: int) -> bool:
        row = self.next_row()
        if row is None:
            return False
        return bool(row["kind"] in ("reply", "fault") and row.get("ticket") == reply.ticket and row["t"] == now)

    def _feed(self, row: Fields) -> None:
        """Feed the driver the input that a journal row records, if the row records input. A row that the core should have produced
        itself feeds nothing."""
        feeding = getattr(self, f"_feed_{row['kind']}", None)
        if feeding is None:
            return
        try:
            feeding(row)
        # The row names a connection that was never opened, or a command that is impossible now.
        except (LookupError, TypeError, ValueError) as wrong:
            raise CannotReplay(f"row {row['seq']} ({row['kind']}) cannot be played: {_reason(wrong)}") from wrong

    def _connection(self, number: int) -> Connection:
        if number not in self.connections:
            raise LookupError(f"no row before it opened connection {number}")
        return self.connections[number]

    def _feed_open(self, row: Fields) -> None:
        listener = row.get("listener", PLAINTEXT)
        connection = Connection(self.driver, row["connection"], row["node"], row["client_host"], row["client_port"], listener)
        connection.guard = None if listener == PLAINTEXT else self._guard
        self.connections[connection.number] = connection
        self.driver.opened(connection)

    def _feed_request(self, row: Fields) -> None:
        self._guard.by_listener = row.get("by_listener", False)
        self.driver.request(self._connection(row["connection"]), b64decode(row["raw"]), row["received"])

    def _feed_reply(self, row: Fields) -> None:
        call = self.driver.tickets.get(row["ticket"])
        if call is not None and call.by_listener:
            message = msgspec.convert(row["message"], APIS[call.codec.key].response.message)
            self.driver.perform([Reply(call.ticket, message)], row["t"])
        else:
            self.driver.drain(row["t"])

    def _feed_fault(self, row: Fields) -> None:
        """Repeat what a fault rule did at this row: end a wait, or send the answer that the rule changed."""
        if row["action"] == OVER:
            self.driver.rules.over(row["ticket"], row["t"])
        elif row["stage"] == "reply":
            self.driver.drain(row["t"])

    def _feed_close(self, row: Fields) -> None:
        """Close a connection as the row says: by the client, or by the server because of invalid bytes, of time or of the end."""
        connection = self._connection(row["connection"])
        self._copy(row)
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
            self._copy(row)
        elif row["what"] == AUTHENTICATED:
            self._connection(row["fields"]["connection"]).admitted(row["fields"]["principal"])
            self._copy(row)
        elif row["what"] == DISCONNECTED:
            self._connection(row["fields"]["connection"]).connection_lost(None)
        elif row["what"] == GOES_ON:
            self.driver.work_on()
        elif row["what"] == PAUSES:  # A pause row at this place belongs to timers that have not written a row yet.
            self.driver.expire(row["t"])

    def _feed_client(self, row: Fields) -> None:
        """Copy a row that a client wrote itself, because the core never saw the row."""
        self._copy(row)

    def _feed_finding(self, row: Fields) -> None:
        """Copy a row of the audit, because the audit made it from other rows."""
        self._copy(row)

    def _between(self, row: Fields) -> None:
        """Insert a recorded row between the rows that one event of the core has produced. A peer may stop reading within an entry, when
        the first of two answers fills its buffer. The other rows already have numbers as if nothing came between."""
        self.driver.journal.sequence += 1
        number = self.produced.rows[0]["seq"]
        later = [{**each, "seq": each["seq"] + 1} for each in self.produced.rows]
        self.produced.rows = deque([{**row, "seq": number}, *later])

    def _copy(self, row: Fields) -> None:
        self.driver.journal.sequence += 1
        self.produced.rows.append({**row, "seq": self.driver.journal.sequence})


def _reason(wrong: Exception) -> str:
    # The str() of a KeyError is only the name of a field that the row lacks.
    return f"it has no field {wrong}" if isinstance(wrong, KeyError) else str(wrong)


def _all_fields(source: Source) -> Iterator[Fields]:
    for row in source:
        _check_lines(source)
        yield _fields(row)
    _check_lines(source)


def _check_lines(source: Source) -> None:
    if source.broken:
        raise CannotReplay(f"line {source.broken[0].line} is no row: {source.broken[0].reason}")


def _fields(row: Row | UnknownRow) -> Fields:
    """Return a row's fields as a journal file has them."""
    if isinstance(row, UnknownRow):
        raise CannotReplay(f"row {row.seq} is of a kind that this version does not know: {row.kind}")
    fields: Fields = msgspec.json.decode(without_empty_tags(msgspec.json.encode(row)))
    return fields


def _of_surroundings(row: Fields) -> bool:
    return bool(row["kind"] == "finding" or (row["kind"] == "note" and row["what"] in SURROUNDINGS))


def _compared(row: Fields, recorded: Fields) -> Fields:
    """Return the fields of a row that a replay has to reproduce. Left out are fields that a replay cannot know, such as tracebacks, and
    fields that the journal is too old to have."""
    unknown = NOT_REPLAYED | (LATER - recorded.keys()) | (OF_ERRORS if "errors" not in recorded else frozenset())
    kept = {name: value for name, value in row.items() if name not in unknown}
    if isinstance(fields := kept.get("fields"), dict) and "traceback" in fields:
        kept["fields"] = {name: value for name, value in fields.items() if name != "traceback"}
    return kept
