"""The journal numbers rows and passes them to sinks. A sink says which kinds of rows it wants, and only those are built
(docs/reference/architecture.md#rule-2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol

from msgspec import structs

from .rows import KINDS, ROWS, Header, ReplyRow, RequestRow, Row

LATE: Final = "the run had begun before this journal"
ALWAYS: Final = -1
"""The value of `Sink.silence` if every heartbeat is wanted."""
NEVER: Final = 1 << 62
"""The value of `Sink.silence` if no heartbeat is wanted."""
BARE: Final = "frames are not kept"


class Repeated(Protocol):
    """Heartbeats on one connection that equal the previous heartbeat except for correlation id, ticket and time.

    A sink may write their rows without making them: each pair is `sample()` with other numbers, and bytes 4 to 8 of the frame are the
    correlation id."""

    first: int  # The number of the first row, which `append_repeated` sets.
    first_ticket: int
    identifiers: bytes  # The correlation ids of the heartbeats follow each other, four bytes each.
    now: int
    waited: int  # Nanoseconds from a request to its answer. Above 0, the object stands for a single heartbeat.
    template: object  # A sink may keep an object here, which is the same for every repetition of this heartbeat.

    def sample(self) -> tuple[RequestRow, ReplyRow]:
        """Return the request row and the reply row of the first heartbeat."""

    def rows(self) -> Iterable[Row]:
        """Return numbered request and reply rows alternately."""


class Sink:
    """Receives the rows of a journal. A subclass says what it wants and overrides `take`; the other methods do nothing here."""

    kinds: frozenset[str] = frozenset(KINDS)
    """The kinds of rows that this sink takes, which do not change while it is attached."""
    routine: bool = False
    """True to get also requests without a note and answers without an error (with request and reply in `kinds`)."""
    apis: frozenset[int] = frozenset()
    """API keys whose requests and answers this sink gets even if it is not `routine`."""
    heartbeats: bool = False
    """True to get also heartbeats that changed nothing (with `routine`)."""
    pulse: bool = False
    """True to get some of the heartbeats that changed nothing (with `routine`, without `heartbeats`): the first of a series of equal
    heartbeats on a connection, and each that comes after the time that `silence` returns."""
    details: bool = False
    """True to get the expensive parts of rows: decoded copies of embedded bytes, payload digests, raw frames."""
    behind: bool = False
    """True to get rows after all other sinks have them. A sink that appends rows of its own needs it, because the others then get the
    rows in order."""

    def load(self) -> None:
        """Import the modules that the first rows would import. It may be called on another thread while rows arrive."""

    def put_off(self) -> None:
        """Keep rows that would import a module until `loaded`, because `load` will be called on another thread."""

    def loaded(self) -> Iterator[None]:
        """Write the rows that were kept until `load` was done, in steps."""
        return iter(())

    def begin(self, header: Header) -> None:
        """Receive the header before any row."""

    def take(self, row: Row) -> None:
        ...

    def take_repeated(self, repeated: Repeated) -> None:
        """Receive heartbeats that changed nothing. With `heartbeats` a sink gets all of them; with `pulse` only if the first of them has
        to be reported."""

    def silence(self, connection: int) -> int:
        """Return the time (ns of the run) until which heartbeats that equal the previous one on this connection need not be reported
        (with `pulse`)."""
        return ALWAYS

    def flush(self) -> None:
        """Write the rows that wait in memory."""

    def end(self, now: int) -> None:
        """Append this sink's own rows, because the run ends and only the journal's last row follows."""

    def close(self) -> None:
        """Release resources, because the run is over."""


class Alarm(Protocol):
    """A timer that calls back at a deadline."""

    ring: Callable[[], None]

    def set(self, deadline: int | None) -> None:
        """Call `ring` at `deadline` (ns of the run) or a little later; None removes the deadline."""

    def cancel(self) -> None:
        """Remove the deadline for good."""


class Journal:
    """Numbers rows and passes each to the sinks that want it. Its flags tell the driver which rows and parts of rows have to be built."""

    def __init__(self, header: Header | Callable[[], Header], sinks: Sequence[Sink] = ()) -> None:
        """`header` may be a function, which is called when a sink or a reader asks for the header."""
        self._header = header
        self.sequence = 0
        self._sinks: list[Sink] = []
        self._begun = False
        self._takers: dict[type[Row], list[Sink]] = {}
        self.wanted: frozenset[str] = frozenset()  # The kinds of rows that some sink wants.
        self.routine = False  # True if a sink wants all requests and answers and not only special ones, such as errors.
        self.apis: frozenset[int] = frozenset()  # The APIs whose requests and answers some sink wants even if `routine` is false.
        self.heartbeats = False  # True if a sink wants heartbeats that changed nothing.
        self.pulse = False  # True if a sink wants some of the heartbeats that changed nothing.
        self.rearranged: Callable[[], None] = lambda: None  # This function is called after one of the flags above has changed.
        self.details = False
        self._arrange()
        for sink in sinks:
            self.add(sink)

    @property
    def header(self) -> Header:
        """The journal's header, which is complete after `begin`."""
        if not isinstance(self._header, Header):
            self._header = self._header()
        return self._header

    def add(self, sink: Sink) -> None:
        """Attach a sink, which gets the rows from now on. A sink that is attached late cannot have a complete journal."""
        self._sinks.append(sink)
        if self._begun:
            sink.begin(structs.replace(self.header, complete=False, incomplete_because=LATE))
        self._arrange()

    def remove(self, sink: Sink) -> None:
        """Detach a sink without closing it."""
        self._sinks.remove(sink)
        self._arrange()

    def load(self) -> None:
        """Let every sink import the modules that its first rows would import. This may run on any thread."""
        for sink in list(self._sinks):
            sink.load()

    def put_off(self) -> None:
        """Tell every sink that `load` and then `loaded` will be called."""
        for sink in self._sinks:
            sink.put_off()

    def loaded(self) -> Iterator[None]:
        """Let every sink write the rows that it has kept, in steps."""
        for sink in list(self._sinks):
            yield from sink.loaded()

    def begin(self, cluster: Callable[[], dict[str, Any]] | None = None) -> None:
        """Write the journal's header once. `cluster` describes the core as it is now, which a replay needs besides whole frames; it is
        called only if some sink writes the header, because a description of all settings delays the start."""
        self._begun = True
        writers = [sink for sink in self._sinks if type(sink).begin is not Sink.begin]
        if cluster is not None and writers:
            self._header = structs.replace(
                self.header, cluster=cluster(), complete=self.details, incomplete_because=None if self.details else BARE
            )
        for sink in writers:
            sink.begin(self.header)

    def append(self, row: Row) -> None:
        """Number a row and pass it to the sinks."""
        self.sequence += 1
        row.seq = self.sequence
        for sink in self._takers[row.__class__]:
            sink.take(row)

    def append_quiet(self, row: Row, told: bool = False) -> None:
        """Append a row of a heartbeat that changed nothing, for sinks that want such rows. `told`: it does not merely repeat the last
        one."""
        self.sequence += 1
        row.seq = self.sequence
        for sink in self._takers[row.__class__]:
            if sink.heartbeats or (told and sink.pulse):
                sink.take(row)

    def append_repeated(self, repeated: Repeated, rows: int) -> None:
        """Number `rows` rows, a request and a reply for each repeated heartbeat, and pass them to the sinks that want heartbeats."""
        # The rows are numbered even if no sink wants them, so that a row has the same number in every sink.
        repeated.first = self.sequence + 1
        self.sequence += rows
        for sink in self._sinks:
            if sink.heartbeats:
                sink.take_repeated(repeated)

    def tell_repeated(self, repeated: Repeated) -> None:
        """Report the first of these heartbeats to the sinks with `pulse`. The rows have numbers already if a sink wants heartbeats."""
        if not self.heartbeats:
            repeated.first = self.sequence + 1
            self.sequence += 2
        for sink in self._sinks:
            if sink.pulse:
                sink.take_repeated(repeated)

    def silence(self, connection: int) -> int:
        """Return the time until which no sink with `pulse` wants heartbeats that equal the previous one on this connection."""
        return min((sink.silence(connection) for sink in self._sinks if sink.pulse), default=NEVER)

    def flush(self) -> None:
        """Let every sink write the rows that wait in memory."""
        for sink in self._sinks:
            sink.flush()

    def end(self, now: int) -> None:
        """Tell every sink that the run ends and only the last row follows."""
        for sink in list(self._sinks):
            sink.end(now)

    def close(self) -> None:
        """Close every sink, even if one of them raises an error."""
        failures: list[Exception] = []
        for sink in self._sinks:
            try:
                sink.close()
            except Exception as failure:
                failures.append(failure)
        if failures:
            raise failures[0]

    def _arrange(self) -> None:
        before = self.heartbeats, self.pulse
        self._sinks.sort(key=lambda sink: sink.behind)
        self._takers = {row: [sink for sink in self._sinks if kind in sink.kinds] for kind, row in ROWS.items()}
        self.wanted = frozenset(kind for kind, row in ROWS.items() if self._takers[row])
        self.routine = any(sink.routine for sink in self._sinks)
        self.apis = frozenset(key for sink in self._sinks for key in sink.apis)
        self.heartbeats = any(sink.heartbeats for sink in self._sinks)
        self.pulse = any(sink.pulse for sink in self._sinks)
        self.details = any(sink.details for sink in self._sinks)
        if (self.heartbeats, self.pulse) != before:
            self.rearranged()
