"""Turn the lines of table `rows` into the rows that an audit reads: those of `auditor.KINDS`, with the fields that a rule may read.

A row of another kind comes as its number and time alone, because the audit notices missing rows and follows the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from groupmock.audit.reading import ANSWERS, SEEN
from groupmock.journal.read import LeftOut, UnknownRow
from groupmock.journal.rows import END, LEFT_OUT, AbandonedRow, ClientRow, CloseRow, NoteRow, OpenRow, ReplyRow, RequestRow, Row

if TYPE_CHECKING:
    import pyarrow as pa

PLACE: Final = ("day", "run", "at")
WIRE: Final = (
    "kind", "seq", "t", "connection", "ticket", "correlation_id", "api_key", "api_version", "client_id", "client_host", "received",
    "written", "delivered", "by", "node", "error", "client", "cut_bytes", "unread_bytes", "reason", "what",
)  # fmt: skip
CONTENT: Final = "content"
COLUMNS: Final = (*PLACE, *WIRE, CONTENT)
EMPTY: Final = "{}"
"""Replaces a message that no rule reads, because a rule may still ask whether there was a message."""


class LakeRow(NamedTuple):
    """A row, or (`row` is None) the sentence that says what the run's journal left out.

    `epoch` is the time 0 of the run in ns since 1970. `ends` is true for the note with which a journal was closed properly.
    """

    day: str
    run: str
    epoch: int
    row: Row | UnknownRow | None
    left_out: str | None = None
    ends: bool = False


def needed(rows: DataFrame) -> DataFrame:
    """Select the columns of table `rows` that an audit needs. Each run comes as a whole and in the order of its journal, and runs are
    processed in parallel."""
    picked = rows.select("line", *PLACE, *WIRE, content().alias(CONTENT))
    return picked.repartition("run").sortWithinPartitions("run", "line").select(*COLUMNS)


def content() -> Column:
    """Select the message of a request or reply if a rule may read it, and the fields of a note or client row."""
    read = F.when(F.col("kind") == "request", F.col("api_key").isin(*SEEN)).otherwise(F.col("api_key").isin(*ANSWERS))
    message = F.when(read, F.col("message")).when(F.col("message").isNotNull(), EMPTY)
    fields = F.when(F.col("kind").isin("note", "client"), F.col("fields"))
    return F.when(F.col("kind").isin("request", "reply"), message).otherwise(fields)


def lake_rows(batch: pa.RecordBatch) -> Iterator[LakeRow]:
    """Turn an Arrow batch with the columns `COLUMNS` into the rows that an audit reads."""
    for day, run, at, kind, seq, t, *fields, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        make, content = _ROW_MAKERS.get(kind), None if text is None else msgspec.json.decode(text)
        row = UnknownRow(kind, seq, t, {}) if make is None else make(seq, t, content, WireFields(*fields))
        if row.__class__ is NoteRow and fields[-1] == LEFT_OUT:
            yield LakeRow(day, run, at - t, None, str(msgspec.convert(content, LeftOut)))
        else:
            yield LakeRow(day, run, at - t, row, ends=row.__class__ is NoteRow and fields[-1] == END)


class WireFields(NamedTuple):
    """The columns of `WIRE` except kind, seq and t."""

    connection: int
    ticket: int
    correlation_id: int
    key: int
    version: int
    client_id: str | None
    client_host: str
    received: int
    written: int | None
    delivered: bool
    by: str
    node: int | None
    error: str | None
    client: str
    cut_bytes: int
    unread_bytes: int
    reason: str
    what: str


def _open(seq: int, t: int, _: Any, wire: WireFields) -> Row:
    return OpenRow(seq=seq, t=t, node=wire.node, connection=wire.connection, client_host=wire.client_host, client_port=0)


def _close(seq: int, t: int, _: Any, wire: WireFields) -> Row:
    return CloseRow(
        seq=seq, t=t, node=wire.node, connection=wire.connection, by=wire.by, reason=wire.reason, cut_bytes=wire.cut_bytes or 0,
        unread_bytes=wire.unread_bytes or 0,
    )  # fmt: skip


def _request(seq: int, t: int, message: Any, wire: WireFields) -> Row:
    return RequestRow(
        seq=seq, t=t, node=wire.node, connection=wire.connection, ticket=wire.ticket, correlation_id=wire.correlation_id,
        api_key=wire.key, api_name="", api_version=wire.version, client_id=wire.client_id, received=wire.received, handled=t, size=0,
        message=message,
    )  # fmt: skip


def _reply(seq: int, t: int, message: Any, wire: WireFields) -> Row:
    return ReplyRow(
        seq=seq, t=t, node=wire.node, connection=wire.connection, ticket=wire.ticket, correlation_id=wire.correlation_id,
        api_key=wire.key, api_name="", api_version=wire.version, size=0, written=wire.written, delivered=wire.delivered, error=wire.error,
        message=message,
    )  # fmt: skip


def _abandoned(seq: int, t: int, _: Any, wire: WireFields) -> Row:
    return AbandonedRow(
        seq=seq, t=t, node=wire.node, connection=wire.connection, ticket=wire.ticket, correlation_id=wire.correlation_id,
        api_key=wire.key, api_name="", api_version=wire.version, reason=wire.reason,
    )  # fmt: skip


def _client(seq: int, t: int, content: Any, wire: WireFields) -> Row:
    return ClientRow(seq=seq, t=t, client=wire.client, what=wire.what, fields=content or {})


def _note(seq: int, t: int, content: Any, wire: WireFields) -> Row:
    return NoteRow(seq=seq, t=t, node=wire.node, what=wire.what, fields=content or {})


_ROW_MAKERS: Final[dict[str, Callable[[int, int, Any, WireFields], Row]]] = {
    "open": _open, "close": _close, "request": _request, "reply": _reply, "abandoned": _abandoned, "client": _client,
    "note": _note,
}  # fmt: skip
