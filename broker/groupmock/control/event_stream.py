"""GET /events streams the cluster's events as server-sent events (WHATWG HTML, 9.2), for the live page and for `curl -N`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Annotated, Any, Final, Literal, Protocol

import msgspec
from msgspec import Meta

from ..core.java.numbers import whole_number
from ..journal.file import without_empty_tags
from ..journal.ring import Ring
from ..journal.rows import CommandRow, FaultRow, FindingRow, NoteRow, Row, kind_of
from ..journal.whose import group_of
from ..story.sentences import sentence
from ..text.printable import brief
from ..watch.levels import level_of, read_by_log
from ..watch.log_lines import LogLine
from ..watch.shortened import Shortened
from .arrivals import OpenRequests
from .context import ControlContext
from .listening import Listener
from .route import ControlCall, Stream
from .row_test import Filter, RowTest

PACE: Final = 0.05
"""The pause in seconds between two looks for new rows. Rows that come within one pause are sent together."""
QUIET: Final = 15.0
"""After this many seconds of silence a comment is sent, to show that the connection is alive."""
CHUNK: Final = 64 * 1024
"""The number of bytes that are written at once. More bytes wait until the peer has read these."""
MOST_GROUPS: Final = 50
"""An event names at most this many groups. Above it, the event says that all groups may have changed."""
QUIET_APIS: Final = frozenset(("Heartbeat", "OffsetFetch"))
"""Requests that change nothing visible in a group."""
RESET: Final = "the cluster is reset, or is no more"


class Listen(Filter, kw_only=True, forbid_unknown_fields=True):
    """The conditions on the rows of a stream, and the form of its events. The stream continues after the row that `since` or the header
    Last-Event-ID names, as far as rows are kept."""

    form: Annotated[
        Literal["rows", "lines", "log", "changes"],
        Meta(
            description="rows: as in a journal file; lines: a sentence each; log: the lines of `serve --log text`, of all or of one "
            "group; changes: what may look different now"
        ),
    ] = "rows"
    last: Annotated[int, Meta(description="begin with what came of so many of the kept rows", ge=0, le=100_000)] = 0


class Form(Protocol):
    """The form in which a stream tells of rows."""

    def tell(self, rows: Iterable[Row]) -> Iterator[bytes]:
        """Return the events that tell of the next rows."""


async def events(context: ControlContext, call: ControlCall) -> Stream:
    """Return the stream of events, which lasts until the client or the cluster ends. Raises TooMany, ValueError."""
    wanted: Listen = call.query
    run, seq = _resumed(call.last_event, wanted.since)
    await context.settle()  # A request that arrives during a reset is about the next cluster, so it waits.
    listener = context.listeners.listen()
    try:
        header = context.running.server.journal.header
        # A reset cluster may keep the name of its run (if that is the seed) but numbers its rows anew, so the start time is added to the
        # name.
        now = f"{header.run}.{header.epoch_ns}"
        form = _form(wanted, now, context.ring)
        again = run not in ("", now)
        return Stream(_parts(listener, form, now, wanted.last, None if again or not seq else seq, again), listener.leave)
    except BaseException:
        listener.leave()
        raise


def _resumed(last_event: str, since: int) -> tuple[str, int]:
    """Parse the id of the last event that a client has seen, RUN/SEQ or a number alone, into a run and a row number. Raises ValueError."""
    run, _, number = last_event.rpartition("/")
    seq = whole_number(number, 63) if number else since
    if seq is None or seq < 0:
        raise ValueError(f"Last-Event-ID: {brief(last_event)} is the id of no event: it ends in the number of a row")
    return run, seq


def _form(wanted: Listen, run: str, ring: Ring) -> Form:
    if wanted.form == "changes":
        return Changes()
    if wanted.form == "log":
        others = [name for name in Filter.__struct_fields__ if name not in ("group", "since") and getattr(wanted, name) is not None]
        if others:
            raise ValueError(f"query: of form log, group is the only condition ({others[0]}: form lines has a line per row)")
        return Log(run, wanted.group)
    return Rows(run, RowTest(msgspec.structs.replace(wanted, since=0)), ring, wanted.form == "lines")


async def _parts(listener: Listener, form: Form, run: str, last: int, seq: int | None, again: bool) -> AsyncIterator[bytes]:
    """Yield the parts of the stream. `last` and `seq` say where it begins. `again` says that the client returns with an id of another
    run."""
    now = listener.taken
    yield _event("begin", {"run": run, "again": again})
    if isinstance(form, Log):
        # A line about a rebalance depends on all rows before it, so all kept rows are read.
        listener.taken = 0
        listener.lost()
        begin = now - last
        if seq is not None:
            form.since = seq
            begin = 0
        async for part in form.early(listener, now, begin):
            yield part
    elif seq is not None:
        if lost := listener.back_to(seq):
            yield _event("lost", {"rows": lost})
    else:
        listener.back_by(last)
    while True:
        while listener.behind:
            if lost := listener.lost():
                yield _event("lost", {"rows": lost})
            for part in _joined(form.tell(listener.next())):
                yield part
            await asyncio.sleep(PACE)
        if listener.over:
            yield _event("end", {"why": RESET})
            return
        if not await listener.news(QUIET):
            yield b": nothing new\n\n"


def _joined(told: Iterable[bytes]) -> Iterator[bytes]:
    """Join events to a few pieces of limited size, each for one write."""
    pieces: list[bytes] = []
    size = 0
    for each in told:
        pieces.append(each)
        size += len(each)
        if size >= CHUNK:
            yield b"".join(pieces)
            pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)


def _event(name: str, data: Any, place: str = "") -> bytes:
    # JSON escapes all line ends, so a peer's text can neither end an event nor begin another.
    told = data if isinstance(data, bytes) else msgspec.json.encode(data)
    return b"%sevent: %s\ndata: %s\n\n" % (f"id: {place}\n".encode() if place else b"", name.encode(), told)


class Rows:
    """A form of events with the matching rows, as in a journal file (`plain`) or each as a sentence."""

    def __init__(self, run: str, test: RowTest, ring: Ring, plain: bool) -> None:
        self._run, self._test, self._ring, self._plain = run, test, ring, plain
        self._requests = OpenRequests(ring.rows) if test.group is not None else None

    def tell(self, rows: Iterable[Row]) -> Iterator[bytes]:
        if self._requests is not None and self._ring.rows:
            self._requests.forget(self._ring.rows[0].seq)
        for row in rows:
            group = self._requests.group_of(row) if self._requests is not None else None
            if self._test.group in (None, group) and self._test.fits(row):
                place = f"{self._run}/{row.seq}"
                if self._plain:
                    yield _event("line", _line(LogLine(row.t, level_of(row) or "debug", sentence(row), row), row), place)
                else:
                    yield _event("row", without_empty_tags(msgspec.json.encode(row)), place)


class Log:
    """A form of events with the lines of the short log."""

    def __init__(self, run: str, group: str | None) -> None:
        self.since = 0
        self._run, self._group = run, group
        self._lines = Shortened()

    async def early(self, listener: Listener, now: int, begin: int) -> AsyncIterator[bytes]:
        """Read all rows that are kept, and yield the log lines of the rows from number `begin` on. The loop serves Kafka's clients
        between slices."""
        for rows in listener.up_to(now):
            at = listener.taken - len(rows)
            told = [each for place, row in enumerate(rows, at) for each in self._of(row) if place >= begin]
            for part in _joined(told):
                yield part
            await asyncio.sleep(0)

    def tell(self, rows: Iterable[Row]) -> Iterator[bytes]:
        for row in rows:
            yield from self._of(row)

    def _of(self, row: Row) -> Iterator[bytes]:
        if not read_by_log(row):
            return
        for line in self._lines.tell(row):
            told = _line(line, row)
            if row.seq > self.since and self._group in (None, told["group"]):
                yield _event("line", told, f"{self._run}/{row.seq}")


def _line(line: LogLine, row: Row) -> dict[str, Any]:
    about = line.about
    if isinstance(about, Row):
        return {"seq": row.seq, "t": line.at, "level": line.level, "kind": kind_of(about), "group": group_of(about), "text": line.text}
    kind, group = about.get("kind", ""), about.get("group")
    return {"seq": row.seq, "t": line.at, "level": line.level, "kind": kind, "group": group, "text": line.text}


class Changed(msgspec.Struct, omit_defaults=True):
    """The parts of the cluster that may have changed since the last event of a stream. `all` means every group and the cluster."""

    seq: int
    t: int
    groups: list[str] = []
    faults: bool = False
    findings: bool = False
    all: bool = False


class Changes:
    """A form of events that name what has changed, with at most one event for each look at new rows."""

    def tell(self, rows: Iterable[Row]) -> Iterator[bytes]:
        changed = Changed(0, 0)
        groups: dict[str, None] = {}
        for row in rows:
            if getattr(row, "api_name", None) in QUIET_APIS:
                continue
            changed.seq, changed.t = row.seq, max(row.t, changed.t)
            changed.faults |= isinstance(row, FaultRow | CommandRow)
            changed.findings |= isinstance(row, FindingRow)
            changed.all |= isinstance(row, CommandRow | NoteRow)
            if (group := group_of(row)) is not None:
                groups[group] = None
        changed.all |= len(groups) > MOST_GROUPS
        changed.groups = [] if changed.all else list(groups)
        if groups or changed.all or changed.faults or changed.findings:
            yield _event("changed", changed)
