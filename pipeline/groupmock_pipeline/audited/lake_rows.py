"""Lines of table `rows` as the rows that an audit is fed: those of the wire, with the content that a rule may read and no other.

Whatever else a journal has comes as its number alone, so that a row that is missing shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from groupmock.audit.world import ANSWERS, SEEN
from groupmock.journal.read import LeftOut, UnknownRow
from groupmock.journal.rows import END, LEFT_OUT, AbandonedRow, CloseRow, OpenRow, ReplyRow, RequestRow, Row

if TYPE_CHECKING:
    import pyarrow as pa

PLACE: Final = ("day", "run", "at")
WIRE: Final = (
    "kind",
    "seq",
    "t",
    "connection",
    "ticket",
    "api_key",
    "api_version",
    "client_id",
    "client_host",
    "received",
    "delivered",
    "by",
)
CONTENT: Final = "content"
COLUMNS: Final = (*PLACE, *WIRE, CONTENT)
EMPTY: Final = "{}"
"""Content that no rule reads: that there was some is all that counts."""


class LakeRow(NamedTuple):
    """A row, or (`row` null) the sentence of what the run leaves out; `epoch`: ns since 1970 of its time 0; `ends`: it says that the
    journal was closed properly."""

    day: str
    run: str
    epoch: int
    row: Row | UnknownRow | None
    left_out: str | None = None
    ends: bool = False


def needed(rows: DataFrame) -> DataFrame:
    """Table `rows` -> `COLUMNS`, one run after the other and each in its order, as far as possible in parallel."""
    picked = rows.select("line", *PLACE, *WIRE, content().alias(CONTENT))
    return picked.repartition("run").sortWithinPartitions("run", "line").select(*COLUMNS)


def content() -> Column:
    """The message of a request or a reply, where a rule may read it; what tells the notes of the end and of rows left out."""
    read = F.when(F.col("kind") == "request", F.col("api_key").isin(*SEEN)).otherwise(F.col("api_key").isin(*ANSWERS))
    message = F.when(read, F.col("message")).when(F.col("message").isNotNull(), EMPTY)
    note = F.when(F.col("kind") == "note", F.when(F.col("what") == LEFT_OUT, F.col("fields")).when(F.col("what") == END, EMPTY))
    return F.when(F.col("kind").isin("request", "reply"), message).otherwise(note)


def lake_rows(batch: pa.RecordBatch) -> Iterator[LakeRow]:
    """The rows of `COLUMNS`."""
    for day, run, at, kind, seq, t, *fields, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        if kind == "note" and text == EMPTY:
            yield LakeRow(day, run, at - t, UnknownRow(kind, seq, t, {}), ends=True)
            continue
        if kind == "note" and text is not None:
            yield LakeRow(day, run, at - t, None, str(msgspec.json.decode(text, type=LeftOut)))
            continue
        make = _MADE.get(kind)
        message = None if text is None else msgspec.json.decode(text)
        yield LakeRow(day, run, at - t, UnknownRow(kind, seq, t, {}) if make is None else make(seq, t, message, WireFields(*fields)))


class WireFields(NamedTuple):
    """The columns of `WIRE` but for kind, seq and t."""

    connection: int
    ticket: int
    key: int
    version: int
    client_id: str | None
    client_host: str
    received: int
    delivered: bool
    by: str


def _open(seq: int, t: int, _: Any, each: WireFields) -> Row:
    return OpenRow(seq=seq, t=t, connection=each.connection, client_host=each.client_host, client_port=0)


def _close(seq: int, t: int, _: Any, each: WireFields) -> Row:
    return CloseRow(seq=seq, t=t, connection=each.connection, by=each.by, reason="")


def _request(seq: int, t: int, message: Any, each: WireFields) -> Row:
    return RequestRow(
        seq=seq, t=t, connection=each.connection, ticket=each.ticket, correlation_id=0, api_key=each.key, api_name="",
        api_version=each.version, client_id=each.client_id, received=each.received, handled=t, size=0, message=message,
    )  # fmt: skip


def _reply(seq: int, t: int, message: Any, each: WireFields) -> Row:
    return ReplyRow(
        seq=seq, t=t, connection=each.connection, ticket=each.ticket, correlation_id=0, api_key=each.key, api_name="",
        api_version=each.version, size=0, delivered=each.delivered, message=message,
    )  # fmt: skip


def _abandoned(seq: int, t: int, _: Any, each: WireFields) -> Row:
    return AbandonedRow(
        seq=seq, t=t, connection=each.connection, ticket=each.ticket, correlation_id=0, api_key=each.key, api_name="",
        api_version=each.version, reason="",
    )  # fmt: skip


_MADE: Final[dict[str, Callable[[int, int, Any, WireFields], Row]]] = {
    "open": _open, "close": _close, "request": _request, "reply": _reply, "abandoned": _abandoned,
}  # fmt: skip
