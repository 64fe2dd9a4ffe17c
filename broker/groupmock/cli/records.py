"""Write records to a running cluster and read them, a record a line of JSON.

What `read` prints `write` takes. `read` goes on to the end of the log, or to --limit. `write` looks at every line before it sends one.
One word per route of the control API (docs/reference/control.md); `groupmock records WORD --help` says more.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from ..control.client import Refused
from ..text.printable import one_line
from . import BROKEN, OK
from ._remote import add_arguments as add_words
from ._remote import ask, reporting, text_of

if TYPE_CHECKING:
    from ..data.lines import Numbered

PAGE: Final = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_words(parser, "records")


def run(arguments: argparse.Namespace) -> int:
    return reporting(arguments, _read if arguments.word == "read" else _write)


def _read(arguments: argparse.Namespace) -> int:
    """Print one record per line. Records that cannot be read are reported on stderr, and the status is then 1."""
    import msgspec

    from ..data.reading import Unread

    # Raw records are printed as they came, because decoding and encoding could change numbers.
    fields = [("topic", str), ("records", list[msgspec.Raw]), ("next", str), ("more", bool), ("unread", list[Unread])]
    load = msgspec.json.Decoder(msgspec.defstruct("Page", fields)).decode
    status, everything = OK, arguments.limit is None
    arguments.limit = str(PAGE) if everything else arguments.limit
    while True:
        page: Any = ask(arguments, load=load)
        for record in page.records:
            print(bytes(record).decode())
        for lost in page.unread:
            where = f"{page.topic}/{lost.partition}, offsets {lost.offset} to {lost.last_offset}"
            print(one_line(f"groupmock records read: {where}: {lost.reason}"), file=sys.stderr)
            status = BROKEN
        if not (everything and page.more):
            return status
        arguments.next, arguments.partition, arguments.offset, arguments.timestamp = page.next, None, None, None


def _write(arguments: argparse.Namespace) -> int:
    """Write the lines in as many requests as the size limit of the control API makes necessary, and report the number of records after
    each."""
    from ..data.lines import RecordLine, new_record, numbered, read_line

    data = text_of(arguments, {})
    lines = list(numbered(data))
    for line in lines:
        new_record(line.number, read_line(line, RecordLine), arguments.key_as, arguments.value_as, 0)
    done: dict[str, Any] = {"records": 0, "partitions": []}
    for part in _parts(lines):
        arguments.first_line = str(part[0].number)
        try:
            answer = ask(arguments, _body(part))
        except Refused as refused:
            before = f" ({done['records']} records of the lines before {part[0].number} were written)" if done["records"] else ""
            raise Refused(refused.status, f"{refused}{before}") from None
        done["records"] += answer["records"]
        done["partitions"] += answer["partitions"]
    print(json.dumps(done, indent=2))
    return OK


def _parts(lines: list[Numbered]) -> Iterator[list[Numbered]]:
    """Yield groups of lines, each of which fits into one request."""
    from ..control.record_calls import MOST_BYTES
    from ..data.writing import MOST_RECORDS

    part: list[Numbered] = []
    size = 0
    for line in lines:
        more = len(line.text) + (line.number - part[-1].number if part else 1)
        if part and (size + more > MOST_BYTES or len(part) == MOST_RECORDS):
            yield part
            part, size = [], 0
        part.append(line)
        size += more
    if part:
        yield part


def _body(part: list[Numbered]) -> bytes:
    """Join lines with records to the body of a request. Blank lines replace lines that were left out, so that the server's line numbers
    are those of the file."""
    rows, number = [], part[0].number
    for line in part:
        rows += [b""] * (line.number - number) + [line.text]
        number = line.number + 1
    return b"\n".join(rows)
