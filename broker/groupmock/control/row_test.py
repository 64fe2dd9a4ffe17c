"""The filter of journal queries, and its form that is prepared to be applied to many rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from groupmock_codec import APIS

from ..core.timers import NAMES
from ..journal.rows import KINDS, FaultRow, ReplyRow, Row, kind_of
from ..journal.whose import field
from ..text.suggest import hint

Read = Callable[[Row], Any]
GROUP: Final = "group"
ERROR: Final = "error"
NO_ERROR: Final = "none"
MEMBER_ID: Final = "member_id"
ANY: Final = ""
API_NAMES: Final = [APIS[key].name for key in APIS]
TELLING: Final = ("rule", "name", "timer", "after", "what", MEMBER_ID, GROUP, "client_id", "connection", "api", ERROR, "kind")
"""The conditions of a filter, from the one that the fewest rows meet to the one that most rows meet."""


class Filter(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The conditions that rows have to meet; a missing condition is met by all rows. A reply belongs to the group of its request."""

    kind: Annotated[str | None, Meta(description=", ".join(KINDS))] = None
    group: Annotated[str | None, Meta(description="group id")] = None
    api: Annotated[str | None, Meta(description="Kafka's name of the API, of requests and replies")] = None
    client_id: Annotated[str | None, Meta(description="of requests and members")] = None
    member_id: Annotated[str | None, Meta(description="named by a request, a reply or a member's row")] = None
    connection: Annotated[int | None, Meta(description="number of a connection")] = None
    error: Annotated[str | None, Meta(description="Kafka's name of an error anywhere in a reply; none: replies without one")] = None
    after: Annotated[str | None, Meta(description="state that a group moved to")] = None
    what: Annotated[str | None, Meta(description="of a member's row or a note")] = None
    rule: Annotated[str | None, Meta(description="name of a fault rule")] = None
    name: Annotated[str | None, Meta(description="name of a command")] = None
    timer: Annotated[str | None, Meta(description=f"of a timer's row: {', '.join(NAMES)}")] = None
    since: Annotated[int, Meta(description="only rows with a higher number", ge=0)] = 0


def _attribute(name: str) -> Read:
    return lambda row: getattr(row, name, None)


READ: Final[dict[str, Read]] = {
    "rule": _attribute("rule"),
    "name": _attribute("name"),
    "timer": _attribute("timer"),
    "after": _attribute("after"),
    "what": _attribute("what"),
    "client_id": _attribute("client_id"),
    "api": _attribute("api_name"),
    "connection": _attribute("connection"),
    "kind": kind_of,
}
"""For each condition with a single value, the function that reads a row's value."""
assert {*READ, GROUP, MEMBER_ID, ERROR} == set(TELLING) == set(Filter.__struct_fields__) - {"since"}


class RowTest:
    """A filter that is prepared for many rows. The condition `group` is not tested here, because a reply does not have its group. Raises
    ValueError for a kind or an API that does not exist."""

    def __init__(self, wanted: Filter) -> None:
        if wanted.kind is not None and wanted.kind not in KINDS:
            raise ValueError(f"query: no kind of row {wanted.kind!r}: there are {', '.join(KINDS)}")
        if wanted.api is not None and wanted.api not in APIS:
            raise ValueError(f"query: no API {wanted.api!r}{hint(wanted.api, API_NAMES)}: Kafka's names, as JoinGroup")
        self.group = wanted.group
        self.key: tuple[str, Any] = next(((name, value) for name in TELLING if (value := getattr(wanted, name)) is not None), (ANY, None))
        """The name and value of the most selective condition; ANY without conditions."""
        self._since = wanted.since
        self._member_id = wanted.member_id
        self._error = wanted.error
        self._conditions = [(read, value) for name, read in READ.items() if (value := getattr(wanted, name)) is not None]

    def fits(self, row: Row) -> bool:
        """Return whether the row meets all conditions except the group."""
        return (
            row.seq > self._since
            and all(read(row) == value for read, value in self._conditions)
            and (self._member_id is None or self._member_id in member_ids(row))
            and (self._error is None or self._error in errors_of(row))
        )


def errors_of(row: Row) -> tuple[str, ...]:
    """Return the names of the errors in a reply: NO_ERROR if it has none, () for a row that is not a reply."""
    if not isinstance(row, ReplyRow):
        return ()
    return tuple(each.error for each in row.errors) if row.errors else (row.error or NO_ERROR,)


def member_ids(row: Row) -> tuple[Any, ...]:
    """Return the member ids that a row has in its message or in its own fields; None where a field is missing."""
    message = getattr(row, "message", None)
    named = field(message, "member_id") if message is not None else None
    return named, getattr(row, "member_id", None), row.fields.get("member_id") if isinstance(row, FaultRow) else None
