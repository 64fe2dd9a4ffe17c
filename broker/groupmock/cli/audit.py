"""Judge clients by what they sent: groupmock audit JOURNAL... [--report FORM[=FILE] ...], or
groupmock audit --drive [OPTIONS] -- COMMAND [ARGUMENT ...]

Reads journals (of serve, run, the pytest fixture, or groupmock record), and says of each rule whether the clients in it kept it, broke it,
or were never in the situation. A JOURNAL is a file (plain, .gz or .zst), a folder (all in it), a pattern in quotes, or "-" for standard
input. Exit codes: 0 no rule broken (a broken rule of severity warning is none), 1 a rule broken, 2 bad use, an unreadable waiver or no
journal at all, 4 nothing broken as far as can be seen, but a journal was not whole or a rule could not be judged.
`groupmock explain RULE` says what a rule asks and how to mend what breaks it.

With --drive it starts COMMAND, a consumer, in several copies, puts them through situations (rebalances, lost answers, coordinators that
move, members that die ...) and judges them in each: a table rule x situation. Then 3 is that COMMAND cannot be judged: it does not start,
does not connect, or makes no group.

Ctrl-C ends both with a report of what was judged until then, and exit code 130.
"""

from __future__ import annotations

import argparse
import sys
from datetime import date
from typing import TYPE_CHECKING, Final

from . import BAD_USE, BROKEN, OK, UNKNOWN
from ._drive import add_drive_arguments, run_drive
from ._journals import ABOUT
from ._options import complain

if TYPE_CHECKING:
    from ..audit.report import Report, Source
    from ..audit.waivers import Waivers

TAKES_COMMAND: Final = True
FORMS: Final = ("text", "json", "junit", "sarif", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journals", metavar="JOURNAL", nargs="*", help=ABOUT)
    parser.add_argument(
        "--report",
        metavar="FORM[=FILE]",
        action="append",
        type=_report,
        help=f"{', '.join(FORMS)}; without FILE on stdout; repeatable (default text)",
    )
    parser.add_argument("--rule", metavar="CODE", action="append", help="look at this rule alone; repeatable (default: all)")
    parser.add_argument("--waivers", metavar="FILE", help="TOML file of findings that do not count, each with reason and last day")
    parser.add_argument("--today", metavar="DAY", type=_day, help="judge waivers as of this day, as 2027-03-31 (default: today)")
    parser.add_argument("--unfinished-ok", action="store_true", help="a journal that has no end is no reason for exit code 4")
    add_drive_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..audit.waivers import BadWaivers

    try:
        return _run(arguments)
    except (BadWaivers, ValueError) as bad:
        complain("audit", bad)
    except OSError as trouble:
        complain("audit", RuntimeError(f"{trouble.filename}: {trouble.strerror}" if trouble.filename else str(trouble)))
    return BAD_USE


def _run(arguments: argparse.Namespace) -> int:
    from ..audit.report import report_of
    from ..journal.source import journals

    waivers = _waivers(arguments)
    _check_rules(arguments)
    if arguments.drive:
        return run_drive(arguments, None if waivers is None else waivers.of, [] if waivers is None else waivers.notices(), _write)
    if arguments.against is not None:
        raise ValueError("--against compares conformance runs: groupmock audit --drive --against FILE -- COMMAND")
    if arguments.command:
        raise ValueError("a COMMAND is for --drive: groupmock audit --drive -- COMMAND (or: groupmock run --journal FILE -- COMMAND)")
    if not arguments.journals:
        raise ValueError("no journal: groupmock audit JOURNAL... (groupmock run --journal FILE -- COMMAND writes one)")
    names = journals(arguments.journals)
    sources: list[Source] = []
    for name in names:
        sources.append(_audited(name, arguments, waivers))
        if sources[-1].interrupted:
            break
    report = report_of(sources, waivers.notices() if waivers is not None else ())
    if unread := len(names) - len(sources):
        report.notices.append(f"interrupted: {unread} of {len(names)} journals are not read")
    _write(report, arguments.report or [("text", None)])
    if sources[-1].interrupted:
        raise KeyboardInterrupt
    if report.broken:
        return BROKEN
    return UNKNOWN if report.unknown else OK


def _waivers(arguments: argparse.Namespace) -> Waivers | None:
    from ..audit.waivers import read_waivers

    return None if arguments.waivers is None else read_waivers(arguments.waivers, arguments.today or date.today())


def _check_rules(arguments: argparse.Namespace) -> None:
    from ..audit.rule import registered
    from ..text.suggest import hint

    known = registered()
    for code in arguments.rule or ():
        if code not in known:
            raise ValueError(f"no rule {code!r}{hint(code, known)} (`groupmock explain` lists them)")


def _audited(name: str, arguments: argparse.Namespace, waivers: Waivers | None) -> Source:
    from ..audit.offline import audit_journal
    from ..journal.read import NotAJournal
    from ..journal.source import STANDARD, called, opened

    waive = waivers.of if waivers is not None else None
    try:
        with opened(name, "audit") as file:
            found = audit_journal(called(name), file, codes=arguments.rule, waive=waive, stoppable=True)
        found.path = None if name == STANDARD else name
    except NotAJournal as bad:
        raise NotAJournal(f"{called(name)}: {bad}") from None
    if arguments.unfinished_ok and not found.interrupted:
        found.notices = []
    return found


def _write(report: Report, wanted: list[tuple[str, str | None]]) -> None:
    from ..audit.forms import written

    for form, file in wanted:
        text = written(form, report)
        if file is None:
            sys.stdout.write(text)
        else:
            with open(file, "w", encoding="utf-8") as opened:
                opened.write(text)


def _report(text: str) -> tuple[str, str | None]:
    form, equals, file = text.partition("=")
    if form not in FORMS or (equals and not file):
        raise argparse.ArgumentTypeError(f"FORM or FORM=FILE expected, FORM one of {', '.join(FORMS)}, not {text!r}")
    return form, file or None


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a day as 2027-03-31 expected, not {text!r}") from None
