"""What does a process death, a rolling bounce or scaling cost a consumer group? Play it and measure.

    groupmock scenario list
    groupmock scenario run NAME [--protocol NAME[/CLIENT]] [--virtual | --live] [--journal FOLDER]
    groupmock scenario table [--virtual | --live] [--json FILE] [--report html] [--output FILE]

`--live`: stock clients in processes of their own, over TCP (needs groupmock[cooperative-aiokafka,cooperative-kafka-python]).
`--virtual`: scripted members on a virtual clock, in milliseconds (the default).
`table` prints the Characteristics of "Incremental Cooperative Rebalancing" with figures; with `--report html` it writes a heat table.
`--agree` compares each live run with its virtual twin: moves and rounds must be the same.
Exit codes: 0 all were measured, 1 an invariant was broken or a record lost, 2 bad use, 4 some could not be measured.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from groupmock.cli import BAD_USE, BROKEN, OK, UNKNOWN
from groupmock.journal.place import make_folder
from groupmock.text.printable import lines, one_line

if TYPE_CHECKING:
    from .play import Sizes
    from .results import Job, ScenarioResult, ScenarioResults

INTERMIXED = True
ACTIONS = ("list", "run", "table")
SIZES = {
    "members": "members the group starts with",
    "partitions": "partitions of the topic",
    "change": "members that scaling adds or removes",
    "seed": "what a virtual run draws from",
    "session_ms": "session.timeout.ms of the members",
    "heartbeat_ms": "heartbeat.interval.ms of the members",
    "delay_ms": "scheduled.rebalance.max.delay.ms of Designs II and III",
    "max_moves": "partitions that Design III moves at a time",
    "move_interval_ms": "how long Design III waits between moves",
    "absence_ms": "how long a bounced process is away",
    "rate": "records per second and partition",
}
"""Maps the sizes that have a flag to its help."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS, help="what to do")
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios (`list` has them; table: default all)")
    parser.add_argument("--protocol", action="append", default=[], metavar="NAME[/CLIENT]", help="only this one (repeatable)")
    stage = parser.add_mutually_exclusive_group()
    stage.add_argument("--virtual", dest="stage", action="store_const", const="virtual", help="scripted members, virtual clock (default)")
    stage.add_argument("--live", dest="stage", action="store_const", const="live", help="stock clients over TCP")
    parser.set_defaults(stage="virtual")
    for name, about in SIZES.items():
        kind = float if name == "rate" else int
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="N", help=about)
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="runs at a time, in processes of their own (default 1)")
    parser.add_argument("--agree", action="store_true", help="live: play every run's virtual twin too; 1 if moves or rounds differ")
    parser.add_argument("--journal", type=Path, metavar="FOLDER", help="keep the journal of every run there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured there as well")
    parser.add_argument("--report", choices=("text", "html"), default="text", help="form of the table (default text)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the table there (default: stdout)")


def run(arguments: argparse.Namespace) -> int:
    if arguments.action == "list":
        return _list()
    from .play import Unsupported
    from .results import jobs

    try:
        _check(arguments)
        sizes = sizes_of(arguments)
        todo = jobs(arguments.stage, sizes, arguments.names, arguments.protocol, arguments.journal, arguments.report == "html")
    except (LookupError, ValueError, Unsupported) as bad:
        return _refuse(str(bad.args[0]))
    with _ended_by_signals():
        try:
            return _measure(arguments, sizes, todo)
        except OSError as bad:
            return _refuse(f"{bad.filename}: {bad.strerror}" if bad.filename else str(bad))


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, so that a stage ends what it started. SIGINT too, because a shell ignores it for background processes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.action == "run" and not arguments.names:
        raise ValueError("run needs the NAME of a scenario; `groupmock scenario list` has them")
    if arguments.agree and arguments.stage != "live":
        raise ValueError("--agree compares live runs with virtual ones: add --live")
    if arguments.jobs < 1:
        raise ValueError("--jobs is at least 1")
    if arguments.journal is not None:
        try:
            make_folder(str(arguments.journal))
        except OSError as failure:
            raise ValueError(f"--journal: {failure.strerror}") from None
    if arguments.report == "html" and arguments.action != "table":
        raise ValueError("--report html is for `groupmock scenario table`")
    for flag, file in (("--json", arguments.json), ("--output", arguments.output)):
        if file is not None and not file.absolute().parent.is_dir():
            raise ValueError(f"{flag} {file}: there is no such folder; make it first")


def sizes_of(arguments: argparse.Namespace) -> Sizes:
    """Return the default sizes with those of the flags. Raises ValueError."""
    from .play import Sizes

    said = {name: value for name in SIZES if (value := getattr(arguments, name)) is not None}
    try:
        return Sizes(**said)
    except ValueError as bad:
        name, rest = str(bad).split(" ", 1)
        raise ValueError(f"--{name.replace('_', '-')} {rest}") from None


def _list() -> int:
    from .catalogue import LIVE, SCENARIOS, TOUR, VIRTUAL

    for each in (*SCENARIOS, TOUR):
        print(f"{each.name:18} {each.about}")
    for stage, protocols in (("virtual", VIRTUAL), ("live", LIVE)):
        print(f"\nprotocols with --{stage}: {', '.join(map(str, protocols))}")
    return OK


def _measure(arguments: argparse.Namespace, sizes: Sizes, todo: list[Job]) -> int:
    from groupmock.text.progress import Progress

    from .results import collected, run_all, to_json

    done: list[ScenarioResult] = []
    with Progress("scenario", len(todo), "runs") as progress:
        for result in run_all(todo, arguments.jobs):
            done.append(result)
            progress.show(len(done), f"{result.scenario} {result.protocol}/{result.client}")
    if arguments.agree:
        done = _compared(todo, done)
    results = collected(arguments.stage, sizes, done)
    if arguments.json is not None:
        arguments.json.write_bytes(to_json(results))
    _write(arguments, results)
    return verdict(done)


def _write(arguments: argparse.Namespace, results: ScenarioResults) -> None:
    if arguments.report == "html":
        from .heat_table import page

        text = page(results)
    else:
        text = "\n".join(map(one_line, _shown(arguments.action, results))) + "\n"
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        arguments.output.write_text(text, encoding="utf-8")


def _compared(todo: list[Job], done: list[ScenarioResult]) -> list[ScenarioResult]:
    """Compare live runs with their counterparts on the virtual clock. Differences are added to `broken`."""
    from .agree import compared

    played = {(job.scenario.name, job.protocol.name, job.protocol.client): job for job in todo}
    return [compared(played[each.scenario, each.protocol, each.client], each) for each in done]


def _shown(action: str, results: ScenarioResults) -> list[str]:
    from . import table

    lines = [table.sizes(results), ""]
    if action == "table":
        lines += [*table.characteristics(results), ""]
    return [*lines, *table.everything(results)]


def verdict(done: list[ScenarioResult]) -> int:
    """Return the exit code, and print a line on stderr for each problem."""
    code = OK
    for each in done:
        where = f"{each.scenario} {each.protocol}/{each.client}"
        problems = [*each.broken, *([f"{each.figures['lost']:g} records were lost"] if each.figures and each.figures["lost"] else [])]
        for problem in problems:
            _complain(f"{where}: {problem}")
            code = BROKEN
        if each.trouble is not None:
            _complain(f"{where}: {each.trouble}")
            code = code or UNKNOWN
    return code


def _refuse(reason: str) -> int:
    _complain(reason)
    return BAD_USE


def _complain(problem: str) -> None:
    print(lines(f"groupmock scenario: {problem}"), file=sys.stderr)
