"""The journal's last rows, counted, found and waited for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ..core.timers import NAMES
from ..journal.rows import KINDS, FaultRow, Row, kind_of
from ..journal.story import field
from .context import ControlContext, plain_row
from .route import ControlCall, NotInTime


class Filter(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which rows; what is not said is any. A reply belongs to the group of its request."""

    kind: Annotated[str | None, Meta(description=", ".join(KINDS))] = None
    group: Annotated[str | None, Meta(description="group id")] = None
    api: Annotated[str | None, Meta(description="Kafka's name of the API, of requests and replies")] = None
    client_id: Annotated[str | None, Meta(description="of requests and members")] = None
    member_id: Annotated[str | None, Meta(description="named by a request, a reply or a member's row")] = None
    connection: Annotated[int | None, Meta(description="number of a connection")] = None
    error: Annotated[str | None, Meta(description="Kafka's name of a reply's error; none: replies without one")] = None
    after: Annotated[str | None, Meta(description="state that a group moved to")] = None
    what: Annotated[str | None, Meta(description="of a member's row or a note")] = None
    rule: Annotated[str | None, Meta(description="name of a fault rule")] = None
    name: Annotated[str | None, Meta(description="name of a command")] = None
    timer: Annotated[str | None, Meta(description=f"of a timer's row: {', '.join(NAMES)}")] = None
    since: Annotated[int, Meta(description="only rows with a higher number", ge=0)] = 0


class Find(Filter, kw_only=True, forbid_unknown_fields=True):
    """Which rows and how many."""

    limit: Annotated[int, Meta(description="at most so many, the newest", ge=1, le=10_000)] = 100


class Wait(Filter, kw_only=True, forbid_unknown_fields=True):
    """Which rows, how many, how long."""

    count: Annotated[int, Meta(description="until there are so many", ge=1)] = 1
    timeout: Annotated[float, Meta(description="seconds", ge=0, le=3600)] = 10.0


class Counted(msgspec.Struct):
    """`dropped`: rows that were before those and are no longer in memory."""

    count: int
    dropped: int


class Found(msgspec.Struct):
    """Rows as they stand in a journal file (docs/reference/journal.md)."""

    count: int
    dropped: int
    rows: list[Any]


def matching(context: ControlContext, wanted: Filter) -> list[Row]:
    """The kept rows that fit. Raises ValueError for a kind that does not exist."""
    if wanted.kind is not None and wanted.kind not in KINDS:
        raise ValueError(f"query: no kind of row {wanted.kind!r}: there are {', '.join(KINDS)}")
    rows: Iterable[Row] = context.ring.rows if wanted.group is None else context.ring.of_group(wanted.group)
    return [row for row in rows if row.seq > wanted.since and _fits(row, wanted)]


def _fits(row: Row, wanted: Filter) -> bool:
    asked = {
        "api_name": wanted.api,
        "client_id": wanted.client_id,
        "connection": wanted.connection,
        "after": wanted.after,
        "what": wanted.what,
        "rule": wanted.rule,
        "name": wanted.name,
        "timer": wanted.timer,
    }
    return (
        wanted.kind in (None, kind_of(row))
        and all(value is None or getattr(row, name, None) == value for name, value in asked.items())
        and (wanted.member_id is None or wanted.member_id in _member_ids(row))
        and (wanted.error is None or (kind_of(row) == "reply" and (getattr(row, "error", None) or "none") == wanted.error))
    )


def _member_ids(row: Row) -> tuple[Any, ...]:
    message = getattr(row, "message", None)
    named = field(message, "member_id") if message is not None else None
    return named, getattr(row, "member_id", None), row.fields.get("member_id") if isinstance(row, FaultRow) else None


async def count(context: ControlContext, call: ControlCall) -> Counted:
    """How many."""
    return Counted(len(matching(context, call.query)), context.ring.dropped)


async def find(context: ControlContext, call: ControlCall) -> Found:
    """The newest of them, oldest first."""
    rows = matching(context, call.query)
    return Found(len(rows), context.ring.dropped, [plain_row(row) for row in rows[-call.query.limit :]])


async def wait(context: ControlContext, call: ControlCall) -> Found:
    """Until there are so many. Raises NotInTime."""
    wanted: Wait = call.query
    # The cluster of this moment: after a reset `context.running` is another one, whose rows were not asked for.
    running = context.running

    def there() -> list[Row] | None:
        if running.closed:
            raise NotInTime(f"the cluster was reset while {_asked(wanted)} were waited for")
        found = matching(context, wanted)
        return found if len(found) >= wanted.count else None

    kinds = frozenset(KINDS if wanted.kind is None else (wanted.kind,))
    rows = await running.until(kinds, there, wanted.timeout)
    if rows is None:
        raise NotInTime(f"{len(matching(context, wanted))} of {_asked(wanted)} within {wanted.timeout:g} s")
    return Found(len(rows), context.ring.dropped, [plain_row(row) for row in rows])


def _asked(wanted: Wait) -> str:
    asked = {name: getattr(wanted, name) for name in Filter.__struct_fields__ if getattr(wanted, name) not in (None, 0)}
    return f"{wanted.count} rows ({', '.join(f'{name} {value}' for name, value in asked.items()) or 'any'})"
