"""The results of a conformance run are the outcome of each situation and a table of rules by situations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from ...text.printable import lines, one_line
from ..report import Report, Source, counts, report_of, told
from ..rule import WARNING, registered
from ..verdicts import BROKEN, KEPT, NOT_EXERCISED, NOT_JUDGED, UNKNOWN, WAIVED, Tally

WARNED: Final = "broken (a warning)"
SIGNS: Final = {KEPT: "+", BROKEN: "B", WARNED: "b", UNKNOWN: "?", WAIVED: "w", NOT_EXERCISED: ".", NOT_JUDGED: "-"}


class Outcome(msgspec.Struct, kw_only=True):
    """The outcome of one situation in a conformance run. `stood` says that the group worked before it, `reached` that all its events
    happened, and `why` what was missing. `remarks` are other facts for the reader, `clients` are libraries by their own names, and
    `excused` are rules that are not judged."""

    name: str
    does: str
    waits: str
    stood: bool = False
    reached: bool = False
    why: str | None = None
    seconds: float = 0.0
    remarks: list[str] = []
    clients: list[str] = []
    excused: list[str] = []
    source: Source | None = None

    def verdict(self, code: str) -> str:
        """Return the verdict for a rule in this situation; a rule that the situation excuses is not judged."""
        tally = None if self.source is None else self.source.audit.rules.get(code)
        return NOT_JUDGED if tally is None else tally.verdict


def report(outcomes: Sequence[Outcome]) -> Report:
    """Return the report of the whole run, with one journal for each situation and a notice for each situation that was not reached."""
    missed = [f"situation {each.name} was not reached: {each.why}" for each in outcomes if not each.reached]
    return report_of([each.source for each in outcomes if each.source is not None], missed)


def line_of(outcome: Outcome) -> str:
    """Return the line that is printed after each situation."""
    found = "not reached: " + one_line(outcome.why) if not outcome.reached else "reached"
    rules = {} if outcome.source is None else outcome.source.audit.rules
    broken = [code for code, tally in rules.items() if tally.verdict == BROKEN]
    errors = [code for code in broken if registered()[code].severity != WARNING]
    warnings = [code for code in broken if code not in errors]
    said = [f"; {word} {', '.join(codes)}" for word, codes in (("BROKEN", errors), ("warning", warnings)) if codes]
    return f"{outcome.name:26} {outcome.seconds:6.1f} s  {found}{''.join(said)}"


def as_text(outcomes: Sequence[Outcome]) -> str:
    """Return the table with its legend and notices."""
    return lines("\n".join(_lines(outcomes, report(outcomes)))) + "\n"


def _lines(outcomes: Sequence[Outcome], found: Report) -> Iterator[str]:
    clients = sorted({client for each in outcomes for client in each.clients})
    yield f"clients: {', '.join(map(one_line, clients)) or 'they say nothing of themselves (KIP-511)'}"
    yield "situations:"
    for number, each in enumerate(outcomes, 1):
        yield f"  {number:2} {each.name}{'' if each.reached else ' (NOT REACHED)'}: {each.does}"
    yield f"{'rule':10} {' '.join(f'{number:2}' for number in range(1, len(outcomes) + 1))}  in all"
    whole = found.whole.rules
    for code, facts in found.rules.items():
        verdicts = (each.verdict(code) for each in outcomes)
        mild = facts.severity == WARNING
        signs = " ".join(f"{SIGNS[WARNED if mild and verdict == BROKEN else verdict]:>2}" for verdict in verdicts)
        yield f"{code:10} {signs}  {_told(whole[code])}  {facts.title}"
    yield f"({', '.join(f'{sign} {verdict}' for verdict, sign in SIGNS.items())})"
    for each in outcomes:
        for remark in [*([f"not reached: {each.why}"] if each.why else []), *each.remarks]:
            yield f"{each.name}: {one_line(remark)}"
    summed = ", ".join(f"{number} {verdict}" for verdict, number in counts(found.whole).items())
    yield f"{sum(each.reached for each in outcomes)} of {len(outcomes)} situations reached; rules: {summed}"


def _told(tally: Tally) -> str:
    verdict = tally.verdict.upper() if tally.verdict in (BROKEN, UNKNOWN) else tally.verdict
    return f"{verdict} ({one_line(told(tally))})" if told(tally) else verdict


def as_data(outcomes: Sequence[Outcome], command: Sequence[str], copies: int) -> dict[str, Any]:
    """Return the results as plain data, findings included, from which the published table is made."""
    found = report(outcomes)
    whole = found.whole.rules
    return {
        "command": list(command),
        "copies": copies,
        "groupmock": found.groupmock,
        "clients": sorted({client for each in outcomes for client in each.clients}),
        "rules": {
            code: {"title": facts.title, "severity": facts.severity, "verdict": whole[code].verdict, "kept": whole[code].kept,
                   "broken": whole[code].broken, "not_judged": whole[code].not_judged}
            for code, facts in found.rules.items()
        },
        "situations": [_as_data(each) for each in outcomes],
    }  # fmt: skip


def _as_data(outcome: Outcome) -> dict[str, Any]:
    rules = {} if outcome.source is None else outcome.source.audit.rules
    return {
        **{name: getattr(outcome, name) for name in ("name", "does", "waits", "reached", "why", "seconds", "remarks", "clients")},
        "excused": outcome.excused,
        "journal": None if outcome.source is None else outcome.source.name,
        "rules": {
            code: {"verdict": tally.verdict, "kept": tally.kept, "broken": tally.broken, "not_judged": tally.not_judged}
            for code, tally in rules.items()
            if tally.verdict != NOT_EXERCISED
        },
        "findings": [] if outcome.source is None else msgspec.to_builtins(outcome.source.audit.findings),
    }
