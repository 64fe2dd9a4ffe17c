"""Appends rows and fans them out. A sink says which kinds it wants, and only those are built (docs/reference/architecture.md#rule-2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

from msgspec import structs

from .rows import KINDS, ROWS, Header, ReplyRow, RequestRow, Row

LATE: Final = "the run had begun before this journal"
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
    heartbeats: bool = False
    """Also heartbeats that changed nothing (with `routine`)?"""
    details: bool = False
    """Does it want what costs something: embedded copies, payload digests, raw frames?"""

    def begin(self, header: Header) -> None:
        """Before any row."""

    def take(self, row: Row) -> None:
        """One row, numbered."""

    def take_repeated(self, repeated: Repeated) -> None:
        """Heartbeats that changed nothing; only if `heartbeats`."""

    def flush(self) -> None:
        """Let nothing wait in memory."""

    def close(self) -> None:
        """The run is over."""


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
        self.heartbeats = False  # does any sink want heartbeats that changed nothing?
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

    def append_quiet(self, row: Row) -> None:
        """A heartbeat's row that changed nothing: only for sinks that want these too."""
        self.sequence += 1
        row.seq = self.sequence
        for sink in self._takers[row.__class__]:
            if sink.heartbeats:
                sink.take(row)

    def append_repeated(self, repeated: Repeated, rows: int) -> None:
        """Number `rows` rows, a request and a reply for each repeated heartbeat, and tell the sinks that want heartbeats."""
        # Numbered although perhaps nobody takes them: every sink calls a row by the same number, whoever else listens.
        repeated.first = self.sequence + 1
        self.sequence += rows
        for sink in self._sinks:
            if sink.heartbeats:
                sink.take_repeated(repeated)

    def flush(self) -> None:
        """Let nothing wait in memory."""
        for sink in self._sinks:
            sink.flush()

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
        self._takers = {row: [sink for sink in self._sinks if kind in sink.kinds] for kind, row in ROWS.items()}
        self.wanted = frozenset(kind for kind, row in ROWS.items() if self._takers[row])
        self.routine = any(sink.routine for sink in self._sinks)
        self.heartbeats = any(sink.heartbeats for sink in self._sinks)
        self.details = any(sink.details for sink in self._sinks)
