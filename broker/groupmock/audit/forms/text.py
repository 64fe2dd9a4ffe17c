"""The text form of a report is for a terminal: first the findings, then a line for each rule, then the totals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...text.printable import lines, one_line
from ..report import Report, ReportedFinding, Source, counts, number, seconds, told
from ..rule import ERROR
from ..verdicts import BROKEN, NOT_EXERCISED, UNKNOWN, WAIVED, ClientFindings

ROWS: Final = 8
"""At most this many row numbers of a finding are printed."""
JOURNALS: Final = 4
"""At most this many further journals of a finding are printed."""


def write(report: Report) -> str:
    """Write the whole report, with escaped texts of peers."""
    return lines("\n".join(_lines(report))) + "\n"


def finding_lines(found: ReportedFinding) -> Iterator[str]:
    """Yield the lines of a finding: what happened at first, what would have been right, which client did it how often, which rows show it,
    and the command that draws the moment."""
    finding = found.first
    mark = WAIVED if finding.waived is not None else BROKEN if finding.severity == ERROR else finding.severity
    yield f"{mark.upper() if mark == BROKEN else mark} {finding.rule}: {one_line(finding.sentence)}"
    yield f"    right: {one_line(finding.instead)}"
    yield f"    client: {found.client}, {found.often}{f': {found.members}' if found.members else ''}"
    yield f"    where: {where(*found.places[0])}"
    if len(found.places) > 1:
        others = ", ".join(f"{one_line(source.name)} ({number(each.count, 'time')})" for source, each in found.places[1 : 1 + JOURNALS])
        hidden = len(found.places) - 1 - JOURNALS
        yield f"    also: {others}" + (f" and {number(hidden, 'more journal')}" if hidden > 0 else "")
    if (command := found.timeline()) is not None:
        yield f"    timeline: {command}"
    if finding.waived is not None:
        yield f"    waived: {finding.waived}"


def where(source: Source, findings: ClientFindings) -> str:
    """Return group, time, rows and journal of the first of the findings."""
    finding = findings.first
    shown = ", ".join(map(str, finding.rows[:ROWS])) + (" ..." if len(finding.rows) > ROWS else "")
    group = f"group {finding.group}, " if finding.group is not None else ""
    return one_line(f"{group}{seconds(finding)}, row {shown}" + (f" of {source.name}" if source.name else ""))


def _lines(report: Report) -> Iterator[str]:
    findings = report.findings()
    for found in findings:
        yield from finding_lines(found)
        yield ""
    for source in report.sources:
        yield from _source(report, source)
    for notice in report.notices:
        yield f"note: {notice}"
    if findings and findings[0].whole.waived is None:
        yield f"`groupmock explain {findings[0].whole.rule}` says why a rule is there and how to mend what breaks it."


def _source(report: Report, source: Source) -> Iterator[str]:
    audit = source.audit
    verdicts = ", ".join(f"{number} {verdict}" for verdict, number in counts(audit).items())
    yield f"{one_line(source.name)}: {number(audit.rows, 'row')}, {number(audit.groups, 'group')}, rules: {verdicts}"
    for notice in [*source.notices, *audit.holes]:
        yield f"  incomplete: {one_line(notice)}"
    for code, tally in audit.rules.items():
        if tally.verdict == NOT_EXERCISED:
            continue
        warns = tally.verdict == BROKEN and report.rules[code].severity != "error"
        mark = report.rules[code].severity if warns else tally.verdict.upper() if tally.verdict in (BROKEN, UNKNOWN) else tally.verdict
        yield f"  {mark:10} {code:10} {report.rules[code].title} ({one_line(told(tally))})"
    unused = [code for code, tally in audit.rules.items() if tally.verdict == NOT_EXERCISED]
    if unused:
        yield f"  {NOT_EXERCISED}: {', '.join(unused)}"
