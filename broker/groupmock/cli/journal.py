"""Ask what happened: count, find or wait for journal rows, of a running cluster or of journal files.

    groupmock journal count|find [FILTER ...] FILE...      of files: plain, .gz, .zst, a folder, a pattern in quotes, - for standard input
    groupmock journal count|find|wait [FILTER ...]         of the cluster whose control API --control names

The filters are the same. Of a server the answer is JSON (docs/reference/control.md), one word per route; of a file it is lines to read, or
with --json the same JSON, one object per file. What a file lacks, because its writer was killed or its size limited, is said on stderr.
`groupmock journal WORD --help` says more.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from . import BAD_USE, OK
from ._journals import ABOUT, for_every_journal, json_line, notices, reading
from ._options import complain
from ._remote import URL, given
from ._remote import add_arguments as add_words
from ._remote import run as ask_server

if TYPE_CHECKING:
    from ..journal.read import JournalReader

OF_FILES: Final = ("count", "find")
"""The subcommands that can read journal files. A file gets no more rows, so `wait` is not among them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for word, one in add_words(parser, "journal").items():
        if word in OF_FILES:
            one.add_argument("files", metavar="FILE", nargs="*", help=f"{ABOUT}; none: ask the server of --control")
            one.add_argument("--json", action="store_true", help="JSON, as a server's answer always is; of files an object each")


def run(arguments: argparse.Namespace) -> int:
    if not getattr(arguments, "files", None):
        return ask_server(arguments)
    from ..control.route import read_strings
    from ..control.row_test import RowTest

    said = " ".join(arguments.route.verb)
    try:
        if arguments.control != os.environ.get(URL):
            raise ValueError("a FILE and --control: ask files or a server, not both at a time")
        wanted = read_strings(given(arguments, arguments.route.query), arguments.route.query, "option")
        RowTest(wanted)
    except ValueError as bad:
        complain(said, bad)
        return BAD_USE
    tell = _count if arguments.word == "count" else _find
    return for_every_journal(said, arguments.files, lambda name, of: tell(said, name, of, wanted, arguments.json))


def _count(said: str, name: str, of: int, wanted: Any, as_json: bool) -> int:
    from ..control.file_queries import fitting

    with reading(name) as journal:
        count = sum(1 for _ in fitting(journal, wanted))
        if as_json:
            print(json_line(_about(name, journal) | {"count": count}))
        else:
            print(count if of == 1 else f"{count:10}  {_shown(name)}")
        _remark(said, name, journal)
    return OK


def _find(said: str, name: str, of: int, wanted: Any, as_json: bool) -> int:
    from ..control.file_queries import fitting
    from ..journal.read import line_of

    with reading(name) as journal:
        count, kept = 0, deque[str](maxlen=wanted.limit)
        for row in fitting(journal, wanted):
            count += 1
            kept.append(line_of(row).decode() if as_json else _line(row))
        if as_json:
            about = json_line(_about(name, journal) | {"count": count})
            print(f'{about[:-1]}, "rows": [{", ".join(kept)}]}}')
        else:
            for line in [f"{_shown(name)}: {count} of {journal.count} rows"] * (of > 1) + [*kept]:
                print(line)
            if count > len(kept):
                complain(said, ValueError(f"{_shown(name)}: the newest {len(kept)} of {count} rows that fit (--limit N for more)"))
        _remark(said, name, journal)
    return OK


def _about(name: str, journal: JournalReader) -> dict[str, Any]:
    """Return the part of the JSON answer that describes a journal, before the rows. `dropped` is what a server says: the number of
    missing rows, or null if it is unknown."""
    dropped = journal.left_out.rows if journal.left_out is not None else 0
    return {"file": name, "run": journal.header.run, "dropped": dropped, "notices": notices(journal)}


def _shown(name: str) -> str:
    from ..journal.source import called
    from ..text.printable import printable

    return printable(called(name))


def _line(row: Any) -> str:
    from ..story.sentences import at, sentence
    from ..text.printable import one_line

    return one_line(f"{row.seq:7} {at(row)}  {sentence(row)}")


def _remark(said: str, name: str, journal: JournalReader) -> None:
    sys.stdout.flush()
    for notice in notices(journal):
        complain(said, ValueError(f"{_shown(name)}: {notice}"))
