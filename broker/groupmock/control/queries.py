"""Routes that count, find and wait for the journal's last rows."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from ..text.printable import ascii_json
from ..watch.levels import of_log
from .arrivals import kept
from .context import ControlContext, plain_rows
from .route import JSON_LINES, ControlCall, Document, NotInTime
from .row_test import Filter, RowTest

MOST_ROWS: Final = 10_000
FILE: Final = "groupmock-journal.jsonl"
NOT_WHOLE: Final = "these are the rows that a cluster kept in memory, without heartbeats that changed nothing{}"
"""Says in the header of a downloaded journal why it cannot be replayed."""


class Find(Filter, kw_only=True, forbid_unknown_fields=True):
    """The filter and the number of rows that are to be found."""

    limit: Annotated[int, Meta(description="at most so many, the newest", ge=1, le=MOST_ROWS)] = 100
    log: Annotated[bool, Meta(description="true: those alone of which `serve --log text` makes its lines")] = False


class Wait(Filter, kw_only=True, forbid_unknown_fields=True):
    """The filter, the number of rows to wait for, and the timeout."""

    count: Annotated[int, Meta(description="until there are so many", ge=1, le=MOST_ROWS)] = 1
    timeout: Annotated[float, Meta(description="seconds", ge=0, le=3600)] = 10.0


class Counted(msgspec.Struct):
    """The number of matching rows. `dropped` counts earlier rows that are no longer in memory."""

    count: int
    dropped: int


class Found(msgspec.Struct):
    """The matching rows as they are in a journal file (docs/reference/journal.md)."""

    count: int
    dropped: int
    rows: list[Any]


async def count(context: ControlContext, call: ControlCall) -> Counted:
    """Count the rows that match the filter."""
    return Counted(len(kept(context.ring, RowTest(call.query))), context.ring.dropped)


async def find(context: ControlContext, call: ControlCall) -> Found:
    """Return the newest matching rows, oldest first."""
    rows = kept(context.ring, RowTest(call.query))
    if call.query.log:
        rows = [row for row in rows if of_log(row)]
    return Found(len(rows), context.ring.dropped, await plain_rows(rows[-call.query.limit :]))


async def file(context: ControlContext, call: ControlCall) -> Document:
    """Return the kept rows as a journal file."""
    ring, dropped = context.ring, context.ring.dropped
    why = NOT_WHOLE.format(f", and without the first {dropped} rows" if dropped else "")
    header = msgspec.structs.replace(context.running.server.journal.header, complete=False, incomplete_because=why)
    lines = [msgspec.json.encode(header), *await plain_rows(list(ring.rows))]
    return Document(JSON_LINES, ascii_json(b"\n".join(lines)) + b"\n", FILE)


async def wait(context: ControlContext, call: ControlCall) -> Found:
    """Wait until enough rows match. Raises NotInTime, TooMany."""
    wanted: Wait = call.query
    # This is the cluster at the time of the request. After a reset `context.running` is another cluster, whose rows were not asked for.
    running = context.running
    rows = await context.arrivals.wait(RowTest(wanted), wanted.count, wanted.timeout)
    if len(rows) < wanted.count:
        if running.closed:
            raise NotInTime(f"the cluster was reset while {_asked(wanted)} were waited for")
        raise NotInTime(f"{len(rows)} of {_asked(wanted)} within {wanted.timeout:g} s")
    return Found(len(rows), context.ring.dropped, await plain_rows(rows))


def _asked(wanted: Wait) -> str:
    conditions = {name: getattr(wanted, name) for name in Filter.__struct_fields__ if getattr(wanted, name) not in (None, 0)}
    return f"{wanted.count} rows ({', '.join(f'{name} {value}' for name, value in conditions.items()) or 'any'})"
