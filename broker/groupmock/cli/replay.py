"""Play a journal again: groupmock replay FILE...

Plays what came from outside (frames, commands, the passing of time) through the same core, and says "equal" where every row comes out as
it was, or shows the first row that differs. A FILE may be plain, .gz or .zst, a folder, a pattern in quotes, or - for standard input.
Exit codes: 0 equal, 1 a row differs, 2 no file, or no journal, 4 it cannot be played (a recording, one without its frames, a row of
another version) or has no end, so that only what is there is known to be equal (--unfinished-ok: then 0).
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from . import BROKEN, OK, UNKNOWN
from ._journals import ABOUT, for_every_journal, json_line, reading
from ._options import complain

if TYPE_CHECKING:
    from ..rig.replay import ReplayResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help=ABOUT)
    parser.add_argument("--json", action="store_true", help="an object per file: rows, equal, difference, notice")
    parser.add_argument("--unfinished-ok", action="store_true", help="a journal that has no end is no reason for exit code 4")


def run(arguments: argparse.Namespace) -> int:
    return for_every_journal("replay", arguments.files, lambda name, of: _play(name, arguments))


def _play(name: str, arguments: argparse.Namespace) -> int:
    from ..journal.source import called
    from ..rig.replay import CannotReplay, replay_journal
    from ..text.printable import one_line, printable

    shown = printable(called(name))
    with reading(name, "replay") as journal:
        try:
            result = replay_journal(journal)
        except CannotReplay as cannot:
            complain("replay", ValueError(f"{shown}: {cannot}"))
            if arguments.json:
                print(json_line({"file": name, "rows": 0, "equal": None, "difference": None, "notice": str(cannot)}))
            return UNKNOWN
        product = journal.header.product
    if arguments.json:
        print(json_line(_answer(name, result)))
    elif result.difference is None:
        print(f"equal: {result.rows} rows of {shown} came again as they were")
    else:
        print(one_line(f"{shown}: {result.rows} rows came again, then {result.difference}{_by_another(product)}"))
    if result.unfinished is not None:
        complain("replay", ValueError(f"{shown}: {result.unfinished}; what came then is not played"))
    if result.difference is not None:
        return BROKEN
    return OK if result.unfinished is None or arguments.unfinished_ok else UNKNOWN


def _answer(name: str, result: ReplayResult) -> dict[str, Any]:
    difference = result.difference
    told = None if difference is None else {"seq": difference.seq, "expected": difference.expected, "got": difference.got}
    return {"file": name, "rows": result.rows, "equal": difference is None, "difference": told, "notice": result.unfinished}


def _by_another(product: str) -> str:
    from ..version import __version__

    ours = f"groupmock {__version__}"
    return "" if product == ours else f" (the journal is of {product}, this is {ours})"
