"""Watch a running cluster in the terminal: groups, members, lag, rebalances, faults, findings, the journal's tail.

It asks the control API (`serve --control PORT`), as curl can. Keys: up and down choose a group, p pauses, / filters, a shows every row, ?
helps, q quits. --once prints one snapshot as plain text, as does standard output that is no terminal. The live view needs textual
(the extra `watch`). Exit codes: 0 done, 2 it cannot be done as asked (no URL, a wrong token, no such group), 3 nobody answers,
or textual is not there.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

from groupmock_codec.extras import pip_install

from . import CANNOT_START, OK
from ._options import complain
from ._remote import add_where, reporting

LINES: Final = 20
PATIENCE: Final = 5.0
"""The timeout in seconds of one answer, which also bounds how long quitting takes if a server does not answer."""
QUICKEST: Final = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_where(parser)
    parser.add_argument("--group", metavar="GROUP", help="this group (live: it is chosen at first; --once: it alone)")
    parser.add_argument("--once", action="store_true", help="print one snapshot as plain text")
    parser.add_argument("--lines", metavar="N", type=_lines, default=LINES, help=f"lines of the tail in a snapshot (default {LINES})")
    parser.add_argument("--interval", metavar="SECONDS", type=_interval, default=1.0, help="between two looks (default 1)")


def run(arguments: argparse.Namespace) -> int:
    return reporting(arguments, _once if arguments.once or not sys.stdout.isatty() else _live, "watch")


def _once(arguments: argparse.Namespace) -> int:
    from ..control.client import ControlClient, Refused
    from ..watch.terminal.plain import told
    from ..watch.terminal.poll import GONE, Poll

    poll = Poll(ControlClient(arguments.control, arguments.token, PATIENCE))
    snapshot = poll.look(arguments.group, everything=arguments.group is None)
    names = [each.row["group_id"] for each in snapshot.groups]
    if arguments.group is not None and arguments.group not in names:
        raise Refused(GONE, f"no group {arguments.group!r}: there are {', '.join(map(repr, names)) or 'none'}")
    lines = list(poll.lines)[-arguments.lines :] if arguments.lines else []
    for line in told(snapshot, lines, arguments.group):
        print(line)
    return OK


def _live(arguments: argparse.Namespace) -> int:
    from ..control.client import ControlClient
    from ..watch.terminal.poll import Poll

    try:
        from ..watch.terminal.app import WatchApp
    except ModuleNotFoundError:
        complain("watch", RuntimeError(f"the live view needs textual: {pip_install('watch')} (--once prints a snapshot without)"))
        return CANNOT_START
    poll = Poll(ControlClient(arguments.control, arguments.token, PATIENCE))
    poll.look()  # The server is asked once before the screen changes, so that an error is printed on the normal screen.
    app = WatchApp(poll, arguments.control, arguments.group, arguments.interval)
    app.run()
    return app.return_code or OK


def _lines(word: str) -> int:
    if not word.isdecimal():
        raise argparse.ArgumentTypeError(f"a number from 0 on expected, not {word!r}")
    return int(word)


def _interval(word: str) -> float:
    try:
        seconds = float(word)
    except ValueError:
        seconds = 0.0
    if not QUICKEST <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"seconds from {QUICKEST:g} to 3600 expected, not {word!r}")
    return seconds
