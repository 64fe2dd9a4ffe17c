"""Draw what happened to groups, out of journals: groupmock timeline JOURNAL... -o FILE [--group G] [--from T] [--to T] ...

A lane per member, with what it owned, what it asked and how that was answered, faults, commands and findings; above them the group's
states, its rebalances, and who owned which partition. FILE's name says the form: .html is a page that needs no network
(zoom, search, a table of the same facts), .svg stands still for paper and issues, .perfetto.json opens in ui.perfetto.dev. A JOURNAL may
be plain, .gz or .zst, a folder, a pattern in quotes, or - for standard input; several are drawn one below the other, each from its own 0.
With --compare the picture begins with what differs between two: rebalances, generations, moved partitions, time without an owner.
What a journal lacks, and what was put together because no screen shows it, is said on stderr and in the picture. Exit codes: 0 drawn, 2 no
file, no journal, no such group in it, or FILE cannot be written.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from . import BAD_USE, OK
from ._journals import ABOUT, end_of, for_every_journal, notices, reading
from ._options import complain
from ._picture import FORMS, form_for
from ._since import Since, moment

if TYPE_CHECKING:
    from ..timeline.drawing import Drawing
    from ..timeline.model import Timeline

COMPARED = 2
"""The number of journals that are compared."""
TIMES = "as --since of `groupmock story`: 12.5 (seconds from the start; also ms, m, h), -30 (before the end), 18:30:05"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journals", metavar="JOURNAL", nargs="+", help=ABOUT)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="where the picture goes; -: standard output")
    parser.add_argument("--format", choices=FORMS, help="its form, where the name of FILE does not say it")
    parser.add_argument("--group", metavar="GROUP", help="this group alone (default: every group, one below the other)")
    parser.add_argument("--from", metavar="TIME", type=moment, default=None, dest="begin", help=f"what is drawn begins then: {TIMES}")
    parser.add_argument("--to", metavar="TIME", type=moment, default=None, dest="end", help="... and ends then, written as --from")
    parser.add_argument("--compare", action="store_true", help="say what differs between two JOURNALs, in the picture and on stderr")
    parser.add_argument("--audit", action="store_true", help="judge the clients on the way, and pin what they did wrong where they did it")


def run(arguments: argparse.Namespace) -> int:
    from ..timeline.comparing import Incomparable, sentence
    from ..timeline.drawing import Drawing, Nothing

    try:
        form = form_for(arguments.output, arguments.format)
    except ValueError as bad:
        complain("timeline", bad)
        return BAD_USE
    drawing = Drawing(arguments.group, arguments.audit)
    code = for_every_journal("timeline", arguments.journals, lambda name, of: _add(drawing, name, arguments))
    if not drawing.journals:
        return code
    if arguments.compare and drawing.journals != COMPARED:
        complain("timeline", ValueError(f"--compare takes {COMPARED} journals, and there are {drawing.journals}"))
        return BAD_USE
    try:
        timeline = drawing.timeline(arguments.compare)
        for comparison in timeline.comparisons:
            print(sentence(comparison), file=sys.stderr)
        _write(timeline, arguments.output, form)
    except (Nothing, Incomparable) as nothing:
        complain("timeline", nothing)
        return BAD_USE
    except BrokenPipeError:  # This error comes from writing to standard output, not from reading a journal.
        raise
    except OSError as trouble:
        complain("timeline", RuntimeError(f"{arguments.output}: {trouble.strerror or trouble}"))
        return BAD_USE
    return code


def _write(timeline: Timeline, output: str, form: str) -> None:
    from ..journal.source import STANDARD
    from ..timeline.drawing import save, written

    if output == STANDARD:
        sys.stdout.write(written(form, timeline))
    else:
        save(timeline, output, form)


def _add(drawing: Drawing, name: str, arguments: argparse.Namespace) -> int:
    from ..journal.source import called
    from ..text.printable import printable

    begin, end = _at(arguments.begin, name, "--from"), _at(arguments.end, name, "--to")
    with reading(name, "timeline") as journal:
        epoch = journal.header.epoch_ns
        since, until = (None if moment is None else moment[0].at(epoch, moment[1]) for moment in (begin, end))
        source = drawing.add(called(name), journal, journal.header, since or 0, until)
        lacking = notices(journal)
    source.notices[:0] = lacking
    for notice in source.notices:
        complain("timeline", ValueError(f"{printable(called(name))}: {notice}"))
    return OK


def _at(moment: Since | None, name: str, flag: str) -> tuple[Since, int] | None:
    """Return the given moment and the time of the journal's end, which is read only if the moment counts from the end."""
    return None if moment is None else (moment, end_of(name, flag) if moment.before_end else 0)
