"""The probe as a program: connect, play, clean up, report (`groupmock probe`, docs/how-to/probe.md)."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from groupmock.text.colour import wants_colour
from groupmock.text.printable import one_line
from groupmock.text.progress import Progress
from groupmock.version import __version__

from .language.exchange import BASE_SETTINGS
from .language.exchange_suite import FOLDER, Suite, load_suite
from .language.messages import KEYS
from .language.syntax import ExchangeError
from .report import FORMS
from .report.text import as_text
from .schedule import GONE, Pace, Schedule
from .stages.access import Access
from .stages.cleanup import clean_up
from .stages.liveness import Death
from .stages.measured_settings import measured
from .stages.release import guess
from .stages.tcp_broker import NoBroker, TcpBroker
from .verdicts.outcome import BROKEN, KEPT, MAY_BE_RELEASE, UNKNOWN, DialogueOutcome
from .verdicts.playable import known_settings
from .verdicts.report_model import SCHEMA, BrokerFacts, DeathFact, Report, counts, exchange_results, row_results, telling, told
from .verdicts.selection import Planned, Planner, UnknownName, Wishes, chosen, newest, rows_asked

ALL_KEPT: Final = 0
SOMETHING_BROKEN: Final = 1
BAD_USE: Final = 2
CANNOT_CONNECT: Final = 3
NOT_KNOWN: Final = 4
AUTO: Final = "auto"


@dataclass(frozen=True)
class Options:
    """The options of one run of the probe. `output` is None for stdout. `at_most` maps an API name to the highest version to use."""

    host: str
    port: int
    release: str = AUTO
    report: str = "text"
    output: Path | None = None
    folder: Path = FOLDER
    wishes: Wishes = field(default_factory=Wishes)
    pace: Pace = field(default_factory=Pace)
    patience: float = 1.0
    settings: Mapping[str, str] = field(default_factory=dict)
    at_most: Mapping[str, int] = field(default_factory=dict)
    access: Access = field(default_factory=Access)
    transcripts: bool = False
    keep: bool = False


def run(options: Options) -> int:
    """Probe one broker and report. Returns the exit code (docs/how-to/probe.md)."""
    try:
        suite = load_suite(options.folder)
        if not suite.exchanges:
            return complain(BAD_USE, f"{options.folder}: no .exchange files")
        chosen(suite, options.wishes)
        _check_names(options.at_most)
    except (ExchangeError, UnknownName, OSError) as problem:
        return complain(BAD_USE, problem)
    if options.output is not None and not options.output.parent.is_dir():
        return complain(BAD_USE, f"{options.output.parent} is no folder")
    if options.output is not None and options.output.is_dir():
        return complain(BAD_USE, f"{options.output} is a folder: --output takes a file")
    try:
        report = probe(options, suite)
    except NoBroker as problem:
        return complain(CANNOT_CONNECT, f"{options.host}:{options.port}: {problem}")
    return _deliver(options, report)


def _check_names(apis: Iterable[str]) -> None:
    for api in apis:
        if api not in KEYS:
            raise UnknownName(f"no API is called {api!r}")


def probe(options: Options, suite: Suite) -> Report:
    """Judge a broker and return the report. Raises NoBroker if it cannot be reached or is no Kafka broker, and UnknownName."""
    variants = chosen(suite, options.wishes)
    started, began = datetime.now(UTC), time.monotonic()
    broker = TcpBroker(options.host, options.port, patience=options.patience, access=options.access)
    try:
        facts = _get_to_know(broker, options)
        planner = Planner(broker, facts.settings | dict(broker.settings), options.wishes)
        planner.prepare(variants)
        decided = [planner.decide(variant) for variant in variants]
        decided = newest(decided) if options.wishes.quick else decided
        planned = [each for each in decided if isinstance(each, Planned)]
        schedule = Schedule(broker, options.pace, _progress(len(planned)))
        try:
            played = iter(schedule.play(planned))
        finally:
            left_behind = () if options.keep else clean_up(broker)
            schedule.close()
    finally:
        broker.close()
    outcomes = [each if isinstance(each, DialogueOutcome) else next(played) for each in decided]
    exchanges = exchange_results(suite, outcomes, options.transcripts, facts.newer)
    rows = row_results(suite, rows_asked(suite, options.wishes.only), exchanges, facts.newer)
    seconds = round(time.monotonic() - began, 1)
    return Report(
        SCHEMA, __version__, started.isoformat(timespec="seconds"), seconds, facts, counts(rows, exchanges), rows, exchanges, left_behind,
        tuple(map(_fact, schedule.deaths)),
    )  # fmt: skip


def _fact(death: Death) -> DeathFact:
    return DeathFact(tuple(death.dialogues), death.culprit, death.before, death.back, death.how)


def _get_to_know(broker: TcpBroker, options: Options) -> BrokerFacts:
    """Determine release and settings: from the user, from the broker, or by trying."""
    if options.release == AUTO:
        found = guess(broker.ranges)
        broker.release, sure, newer = found.release, found.sure, bool(found.newer)
    else:
        broker.release, sure, newer = options.release, "as told", False
    for api, version in options.at_most.items():
        broker.limit(KEYS[api], version)
    broker.settings |= options.settings
    tried = measured(broker)
    broker.settings |= tried
    settings = telling(known_settings(broker.release, broker.settings), BASE_SETTINGS)
    return BrokerFacts(f"{options.host}:{options.port}", broker.nodes, broker.release, sure, settings, tuple(sorted(tried)), newer)


def _progress(total: int) -> Callable[[DialogueOutcome], None]:
    """Return a function that counts outcomes on the terminal's last line."""
    progress, verdicts = Progress("probe", total, "dialogues"), Counter[str]()

    def count(outcome: DialogueOutcome) -> None:
        verdicts[outcome.verdict] += 1
        done = verdicts.total()
        if done < total:
            progress.at(done, f"{verdicts[BROKEN]} to be looked at again" if verdicts[BROKEN] else "")
        else:
            progress.erase()

    return count


def _deliver(options: Options, report: Report) -> int:
    """Write the report of the probe to a file or to stdout."""
    if options.output is None:
        text = as_text(report, colour=wants_colour(sys.stdout)) if options.report == "text" else FORMS[options.report](report)
        sys.stdout.write(text)
    else:
        try:
            options.output.write_text(FORMS[options.report](report), encoding="utf-8")
        except OSError as problem:
            return complain(BAD_USE, problem)
    code = exit_code(report, bool(options.wishes.only))
    return complain(code, f"{report.broker.address}: {GONE}; {told(report.deaths[-1])}") if code == CANNOT_CONNECT else code


def exit_code(report: Report, asked: bool) -> int:
    """Return 3 if the broker went away for good, 1 if something is broken or the broker died meanwhile, 4 if nothing is broken but
    something may be the release or rows that the user asked for are unknown, else 0."""
    verdicts = {row.verdict for row in report.rows}
    if any(not death.back for death in report.deaths):
        return CANNOT_CONNECT
    if BROKEN in verdicts or report.deaths:
        return SOMETHING_BROKEN
    if KEPT not in verdicts or MAY_BE_RELEASE in verdicts or (asked and UNKNOWN in verdicts):
        return NOT_KNOWN
    return ALL_KEPT


def complain(code: int, problem: object) -> int:
    sys.stderr.write(one_line(f"groupmock probe: {problem}") + "\n")
    return code
