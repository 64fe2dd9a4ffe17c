"""Two journals of the same traffic, compared by what was said on each connection: all but ids, times, and what never was on the wire."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import msgspec

from groupmock.journal.file import without_empty_tags
from groupmock.journal.rows import CloseRow, OpenRow, ReplyRow, RequestRow
from groupmock_codec import APIS

WIRE = (OpenRow, RequestRow, ReplyRow, CloseRow)
IDS_AND_TIMES = ("seq", "t", "node", "connection", "ticket", "received", "handled", "waited")


def plain(row: Any, *without: str) -> dict[str, Any]:
    """A row as a file has it, its message as the bytes that its version has on the wire: our server's rows show what it has to say, and a
    version may have no place for all of it."""
    found: dict[str, Any] = msgspec.json.decode(without_empty_tags(msgspec.json.encode(row)))  # as in a file
    if isinstance(row, RequestRow | ReplyRow) and row.message is not None:
        api = APIS[row.api_key]
        side = api.request if isinstance(row, RequestRow) else api.response
        message = msgspec.json.decode(msgspec.json.encode(row.message), type=side.message)
        found["message"] = side.encode(row.api_version, message).hex()
    return {name: value for name, value in found.items() if name not in without}


def by_client(rows: Iterable[Any], *without: str) -> dict[int, list[dict[str, Any]]]:
    """Client port -> the rows of its connections."""
    ports: dict[int, int] = {}
    found = defaultdict(list)
    for row in rows:
        if isinstance(row, OpenRow):
            ports[row.connection] = row.client_port
        if isinstance(row, WIRE):
            found[ports[row.connection]].append(plain(row, *IDS_AND_TIMES, *without))
    return dict(found)
