"""Write the report as text for a terminal or a file."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from groupmock.text.colour import DIM, GREEN, MAGENTA, RED, YELLOW, painted

from ..verdicts.outcome import BROKEN, KEPT, MAY_BE_RELEASE, NOT_APPLICABLE, UNKNOWN
from ..verdicts.report_model import BrokenDialogue, ExchangeResult, Report, RowResult, told
from .readable import readable

WIDTH: Final = 120
COLOURS: Final = {KEPT: GREEN, BROKEN: RED, MAY_BE_RELEASE: MAGENTA, UNKNOWN: YELLOW, NOT_APPLICABLE: DIM}
SIGNS: Final = {KEPT: "kept", BROKEN: "BROKEN", MAY_BE_RELEASE: "newer?", UNKNOWN: "unknown", NOT_APPLICABLE: "n/a"}
HEADINGS: Final = {BROKEN: "Broken:", MAY_BE_RELEASE: "Different, which may be the release:"}
"""The verdicts whose rows (rules) the report shows in full below the list."""


def as_text(report: Report, colour: bool = False) -> str:
    """Format the broker, every row with its verdict, the broken rows in full, and the counts."""
    return "\n".join(_lines(readable(report), colour)) + "\n"


def _lines(report: Report, colour: bool) -> Iterator[str]:
    broker = report.broker
    yield f"{broker.address}, {broker.nodes} node{'s' if broker.nodes > 1 else ''}, judged as Kafka {broker.release} ({broker.sure})"
    for name, value in broker.settings.items():
        yield f"    {name} = {value}{' (measured)' if name in broker.measured else ''}"
    yield ""
    for row in report.rows:
        yield from _row(row, colour)
    before: dict[str, str] = {}
    for verdict, heading in HEADINGS.items():
        rows = [each for each in report.rows if each.verdict == verdict]
        if rows:
            yield ""
            yield heading
        for row in rows:
            yield from _told(row, report, before, colour)
    if report.deaths:
        yield ""
    for death in report.deaths:
        yield from textwrap.wrap(f"{_painted('DIED', BROKEN, colour)}    {told(death)}", WIDTH, subsequent_indent=" " * 8)
    yield ""
    for what, numbers in report.counts.items():
        shown = {verdict: number for verdict, number in numbers.items() if broker.newer or verdict != MAY_BE_RELEASE}
        yield f"{what}: " + ", ".join(f"{number} {_painted(verdict, verdict, colour)}" for verdict, number in shown.items())
    if report.left_behind:
        yield f"left behind, could not be deleted: {', '.join(report.left_behind)}"
    yield f"{report.seconds:.0f} s"


def _row(row: RowResult, colour: bool) -> Iterator[str]:
    sign = _painted(f"{SIGNS[row.verdict]:8}", row.verdict, colour)
    yield f"{sign}{row.row:24} {textwrap.shorten(row.says, WIDTH - 34, placeholder=' ...')}".rstrip()
    if row.detail and row.verdict not in HEADINGS:
        yield from textwrap.wrap(row.detail, WIDTH, initial_indent=" " * 33, subsequent_indent=" " * 33)


def _told(row: RowResult, report: Report, before: dict[str, str], colour: bool) -> Iterator[str]:
    """Format in full a row (rule) whose verdict is broken or may be the release. Only the first version of an exchange is shown in full,
    and an exchange shown under another row (`before`) is not repeated."""
    yield ""
    yield f"{_painted(row.row, row.verdict, colour)}  {row.says}"
    if row.why:
        yield from textwrap.wrap(f"why it matters: {row.why}", WIDTH, initial_indent="  ", subsequent_indent="  ")
    if source := ", ".join(part for part in (row.kip, row.place) if part):
        yield f"  from: {source}"
    if not any(each.name in row.exchanges and each.verdict in HEADINGS for each in report.exchanges):
        yield from textwrap.wrap(f"seen in {row.detail}", WIDTH, initial_indent="  ", subsequent_indent="  ")
    versions: dict[str, list[ExchangeResult]] = {}
    for each in report.exchanges:
        if each.name in row.exchanges and each.verdict in HEADINGS:
            versions.setdefault(each.name.partition("[")[0], []).append(each)
    for name, results in versions.items():
        yield f"  {results[0].name}: {results[0].title}" + (f" (told under {before[name]})" if name in before else "")
        if name not in before and results[0].broken is not None:
            yield from _broken(results[0].broken)
        if len(results) > 1:
            also = ", ".join(each.name.removeprefix(name) for each in results[1:])
            yield from textwrap.wrap(f"also {also}", WIDTH, initial_indent="      ", subsequent_indent="      ")
        before.setdefault(name, row.row)


def _broken(broken: BrokenDialogue) -> Iterator[str]:
    told = {"at": f"{broken.place}  {broken.step}", "sent": broken.sent, "expected": broken.expected, "seen": broken.seen}
    for name, text in told.items():
        if text:
            yield from textwrap.wrap(f"{name + ':':10}{text}", WIDTH, initial_indent="      ", subsequent_indent=" " * 16)
    for problem in broken.problems:
        yield from textwrap.wrap(f"so: {problem}", WIDTH, initial_indent="      ", subsequent_indent=" " * 16)


def _painted(text: str, verdict: str, colour: bool) -> str:
    return painted(text, COLOURS[verdict]) if colour else text
