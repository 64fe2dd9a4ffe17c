"""The text form of a report is for a terminal: first the findings, then a line for each rule, then the totals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...text.printable import lines, one_line
from ..report import Report, Source, counts, number, told
from ..verdicts import BROKEN, NOT_EXERCISED, UNKNOWN, WAIVED, Finding

ROWS: Final = 8
"""At most this many row numbers of a finding are printed."""


def write(report: Report) -> str:
    """Write the whole report, with escaped texts of peers."""
    return lines("\n".join(_lines(report))) + "\n"


def finding_lines(finding: Finding, journal: str = "") -> Iterator[str]:
    """Yield the lines of a finding: what happened, what would have been right, and which rows show it."""
    shown = ", ".join(map(str, finding.rows[:ROWS])) + (" ..." if len(finding.rows) > ROWS else "")
    where = f"{f'group {finding.group}, ' if finding.group is not None else ''}{finding.t / 1e9:.3f} s, row {shown}"
    mark = WAIVED if finding.waived is not None else BROKEN if finding.severity == "error" else finding.severity
    yield f"{mark.upper() if mark == BROKEN else mark} {finding.rule}: {one_line(finding.sentence)}"
    yield f"    right: {one_line(finding.instead)}"
    yield f"    where: {one_line(where)}{f' of {one_line(journal)}' if journal else ''}"
    if finding.waived is not None:
        yield f"    waived: {finding.waived}"


def _lines(report: Report) -> Iterator[str]:
    for source, finding in report.findings():
        yield from finding_lines(finding, source.name)
        yield ""
    for source in report.sources:
        yield from _source(report, source)
    for notice in report.notices:
        yield f"note: {notice}"
    if any(finding.waived is None for _, finding in report.findings()):
        first = next(finding.rule for _, finding in report.findings())
        yield f"`groupmock explain {first}` says why a rule is there and how to mend what breaks it."


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
