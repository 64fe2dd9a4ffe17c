"""Tell what happened to groups, out of a journal: groupmock story FILE... [--group G] [--member M] [--since T]

Who joined and why, who got which partitions, what was committed, fetched and refused, which fault struck: the story that a failed test
shows, of any journal (of serve, run, record, the fixture). A FILE may be plain, .gz or .zst, a folder, a pattern in quotes, or - for
standard input. What a file lacks, because its writer was killed or its size limited, is said on stderr. Exit codes: 0 told, 2 no file, no
journal, or no such group or member in it.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

from . import BAD_USE, OK
from ._journals import ABOUT, end_of, for_every_journal, json_line, notices, reading
from ._options import complain
from ._since import Since, moment

LINES: Final = 400


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help=ABOUT)
    parser.add_argument("--group", metavar="GROUP", help="this group alone (default: every group, one after the other)")
    parser.add_argument("--member", metavar="MEMBER", help="lines about it and the whole group: client id, anna#d7e8 or member id")
    parser.add_argument(
        "--since",
        metavar="TIME",
        type=moment,
        default="0",
        help="from then on: 12.5 (seconds from the start; also ms, m, h), -30 (before the end), 18:30:05 or 2026-11-23T18:30:05Z",
    )
    parser.add_argument(
        "--lines", metavar="N", type=_lines, default=LINES, help=f"of a group, its first and its last ones (default {LINES})"
    )
    parser.add_argument("--json", action="store_true", help="an object per file: its run, seed, lines and what it lacks")


def run(arguments: argparse.Namespace) -> int:
    untold: list[str] = []
    told: list[str] = []

    def tell(name: str, of: int) -> int:
        said = _tell(name, of, arguments)
        (told if said is None else untold).append(said or name)
        return OK

    code = for_every_journal("story", arguments.files, tell)
    if untold and not told:
        for sentence in untold:
            complain("story", ValueError(sentence))
        return BAD_USE
    return code


def _tell(name: str, of: int, arguments: argparse.Namespace) -> str | None:
    """Print the story of one journal. Returns None, or the reason why no story exists."""
    from ..journal.source import called
    from ..story.teller import NotTold
    from ..story.telling import tell
    from ..text.printable import printable

    wanted: Since = arguments.since
    shown, end = printable(called(name)), end_of(name, "--since") if wanted.before_end else 0
    with reading(name, "story") as journal:
        header = journal.header
        # A recording of a real cluster has no random seed.
        seed = header.seed if header.complete else None
        since = wanted.at(header.epoch_ns, end)
        try:
            lines = list(tell(journal, group=arguments.group, member=arguments.member, since=since, seed=seed, most=arguments.lines))
        except NotTold as nothing:
            return f"{shown}: {nothing}"
        lacking = notices(journal)
    if arguments.json:
        print(json_line({"file": name, "run": header.run, "seed": seed, "notices": lacking, "lines": lines}))
    else:
        print("\n".join([f"{shown}:"] * (of > 1) + lines + [""] * (of > 1)))
    sys.stdout.flush()
    for notice in lacking:
        complain("story", ValueError(f"{shown}: {notice}"))
    return None


def _lines(text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"a number from 2 on expected, not {text!r}")
    return int(text)
