"""Appends rows and fans them out. A sink says which kinds it wants, and only those are built (docs/reference/architecture.md#rule-2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

from msgspec import structs

from .rows import KINDS, ROWS, Header, ReplyRow, RequestRow, Row

LATE: Final = "the run had begun before this journal"
ALWAYS: Final = -1
"""Until when nobody need hear of heartbeats where somebody wants each of them."""
NEVER: Final = 1 << 62
"""... and where nobody wants any."""
BARE: Final = "frames are not kept"


class Repeated(Protocol):
    """Heartbeats on one connection that repeat the last one, but for correlation id, ticket and time.

    A sink may write their rows without ever making them: each pair is `sample()` with other numbers, and the frame's bytes 4 to 8
    are the correlation id.
    """

    first: int  # number of the first row; set by `append_repeated`
    first_ticket: int
    identifiers: bytes  # correlation ids, four bytes each
    now: int
    waited: int  # ns until the answers; above 0 there is one heartbeat alone
    template: object  # for a sink to keep: the same object for every repetition of this heartbeat

    def sample(self) -> tuple[RequestRow, ReplyRow]:
        """The first pair of rows."""

    def rows(self) -> Iterable[Row]:
        """Request and reply rows in turn, numbered."""


class Sink:
    """Where rows go. A subclass says what it wants and does something in `take`; the rest is that nothing waits and nothing is open."""

    kinds: frozenset[str] = frozenset(KINDS)
    """What it takes; fixed while it is attached."""
    routine: bool = False
    """Also requests without a note and answers without an error (with request and reply in `kinds`)?"""
    apis: frozenset[int] = frozenset()
    """Kafka's numbers of the APIs of which it wants those too, where it is not `routine`."""
    heartbeats: bool = False
    """Also heartbeats that changed nothing (with `routine`)?"""
    pulse: bool = False
    """Of heartbeats that changed nothing, those alone that are no mere repetition (with `routine`, without `heartbeats`): the first of a
    run of equal ones on a connection with nothing between them, and every one that comes after the time which `silence` names."""
    details: bool = False
    """Does it want what costs something: embedded copies, payload digests, raw frames?"""
    behind: bool = False
    """Is it handed rows after all others? One that appends rows of its own is: theirs are in order then."""

    def load(self) -> None:
        """Import now what the first rows would import; may be called on another thread, while rows come."""

    def begin(self, header: Header) -> None:
        """Before any row."""

    def take(self, row: Row) -> None:
        """One row, numbered."""

    def take_repeated(self, repeated: Repeated) -> None:
        """Heartbeats that changed nothing; only if `heartbeats`, or if `pulse` and the first of them is to be told."""

    def silence(self, connection: int) -> int:
        """Until when (ns of the run) it need not hear of heartbeats that are as the last one on this connection; only if `pulse`."""
        return ALWAYS

    def flush(self) -> None:
        """Let nothing wait in memory."""

    def end(self, now: int) -> None:
        """The last row comes next: whoever has rows of its own to append does it now."""

    def close(self) -> None:
        """The run is over."""


class Alarm(Protocol):
    """Rings when it is time."""

    ring: Callable[[], None]

    def set(self, deadline: int | None) -> None:
        """Ring at `deadline` (ns of the run) or a little later; None: there is none."""

    def cancel(self) -> None:
        """Ring no more."""


class Journal:
    """Numbers rows and gives each to the sinks that want it. The flags say what is worth building at all."""

    def __init__(self, header: Header, sinks: Sequence[Sink] = ()) -> None:
        self.header = header
        self.sequence = 0
        self._sinks: list[Sink] = []
        self._begun = False
        self._takers: dict[type[Row], list[Sink]] = {}
        self.wanted: frozenset[str] = frozenset()  # kinds that some sink takes
        self.routine = False  # does any sink want requests and answers that are nothing special?
        self.apis: frozenset[int] = frozenset()  # ... and if none does, of which APIs alone?
        self.heartbeats = False  # does any sink want heartbeats that changed nothing?
        self.pulse = False  # does any sink want those of them that are no mere repetition?
        self.rearranged: Callable[[], None] = lambda: None  # called when either has changed
        self.details = False
        self._arrange()
        for sink in sinks:
            self.add(sink)

    def add(self, sink: Sink) -> None:
        """Attach a sink; from now on it gets what it wants. One that comes late cannot have a complete journal."""
        self._sinks.append(sink)
        if self._begun:
            sink.begin(structs.replace(self.header, complete=False, incomplete_because=LATE))
        self._arrange()

    def remove(self, sink: Sink) -> None:
        """Detach a sink; it is not closed."""
        self._sinks.remove(sink)
        self._arrange()

    def load(self) -> None:
        """Let every sink import what its first rows would import; on any thread."""
        for sink in list(self._sinks):
            sink.load()

    def begin(self, cluster: dict[str, Any] | None = None) -> None:
        """Write the header, once. `cluster`: what the core is made of; with it and whole frames a replay is possible."""
        self._begun = True
        if cluster is not None:
            self.header = structs.replace(
                self.header, cluster=cluster, complete=self.details, incomplete_because=None if self.details else BARE
            )
        for sink in self._sinks:
            sink.begin(self.header)

    def append(self, row: Row) -> None:
        """Number a row and hand it out."""
        self.sequence += 1
        row.seq = self.sequence
        for sink in self._takers[row.__class__]:
            sink.take(row)

    def append_quiet(self, row: Row, told: bool = False) -> None:
        """A heartbeat's row that changed nothing: only for sinks that want these too; `told`: it is no mere repetition."""
        self.sequence += 1
        row.seq = self.sequence
        for sink in self._takers[row.__class__]:
            if sink.heartbeats or (told and sink.pulse):
                sink.take(row)

    def append_repeated(self, repeated: Repeated, rows: int) -> None:
        """Number `rows` rows, a request and a reply for each repeated heartbeat, and tell the sinks that want heartbeats."""
        # Numbered although perhaps nobody takes them: every sink calls a row by the same number, whoever else listens.
        repeated.first = self.sequence + 1
        self.sequence += rows
        for sink in self._sinks:
            if sink.heartbeats:
                sink.take_repeated(repeated)

    def tell_repeated(self, repeated: Repeated) -> None:
        """The first of these heartbeats is no mere repetition. They are numbered already if some sink wants heartbeats."""
        if not self.heartbeats:
            repeated.first = self.sequence + 1
            self.sequence += 2
        for sink in self._sinks:
            if sink.pulse:
                sink.take_repeated(repeated)

    def silence(self, connection: int) -> int:
        """Until when no sink with `pulse` need hear of heartbeats that are as the last one on this connection."""
        return min((sink.silence(connection) for sink in self._sinks if sink.pulse), default=NEVER)

    def flush(self) -> None:
        """Let nothing wait in memory."""
        for sink in self._sinks:
            sink.flush()

    def end(self, now: int) -> None:
        """The last row comes next."""
        for sink in list(self._sinks):
            sink.end(now)

    def close(self) -> None:
        """The run is over: every sink is closed, even if one of them cannot."""
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
