"""Compare a conformance run with an earlier one, whose table was written by `--table`: which rules does the client break anew?

The runs are compared in the situations that both of them played. A rule is new if the client breaks it now in a situation that the earlier
run reached, and broke it nowhere then. A rule is gone if the client broke it, and keeps it now in one of those situations. Where one of the
runs did not look, because it did not reach the situation or did not know the rule, the comparison says so and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from ...text.not_json import NOT_JSON, why_not_json
from ...text.printable import one_line
from ..rule import ERROR, registered
from ..verdicts import BROKEN, KEPT, NOT_EXERCISED
from .outcome import Outcome

NEW: Final = "new"
UNCLEAR: Final = "unclear"
STAYS: Final = "stays"
UNSEEN: Final = "unseen"
GONE: Final = "gone"
SHOWN: Final = 4
"""At most this many situations are named in a line."""


class BadTable(ValueError):
    """Raised if a file is not the table of a conformance run. The text names the file and the remedy."""


class EarlierRule(msgspec.Struct, kw_only=True):
    """The verdict on a rule in one situation of the earlier run."""

    verdict: str


class EarlierSituation(msgspec.Struct, kw_only=True):
    """A situation of the earlier run, with the rules that were exercised in it."""

    name: str
    reached: bool
    rules: dict[str, EarlierRule]


class EarlierRun(msgspec.Struct, kw_only=True):
    """The parts of an earlier run's table that are compared. `rules` has every rule that was applied."""

    rules: dict[str, EarlierRule]
    situations: list[EarlierSituation]
    clients: list[str]


class Change(msgspec.Struct, kw_only=True):
    """The comparison of one rule that is broken in one of the runs. `before` and `now` are the situations in which it was broken,
    `sentence` is the first that was found now, and `why` explains a change that is unclear or unseen."""

    rule: str
    severity: str
    change: str
    before: list[str]
    now: list[str]
    sentence: str | None = None
    why: str | None = None


class Comparison(msgspec.Struct, kw_only=True):
    """The differences between an earlier run and this one. `situations` were played by both. `missed` are those that only the earlier run
    reached, each with the reason."""

    against: str
    clients_before: list[str]
    clients: list[str]
    situations: list[str]
    missed: dict[str, str]
    changes: list[Change]

    @property
    def broken(self) -> bool:
        """True if a rule of severity error is newly broken."""
        return any(each.change == NEW and each.severity == ERROR for each in self.changes)

    @property
    def unknown(self) -> bool:
        """True if this run looked at less than the earlier one, or found what the earlier run could not have found."""
        return bool(self.missed) or any(each.change == UNCLEAR and each.severity == ERROR for each in self.changes)


def read_table(path: str | Path) -> EarlierRun:
    """Read the table of an earlier run. Raises BadTable, OSError."""
    text = Path(path).read_bytes()
    try:
        return msgspec.json.decode(text, type=EarlierRun)
    except NOT_JSON as bad:
        why = why_not_json(text, bad)
        raise BadTable(f"{path} is no table of a conformance run ({why}): write one with groupmock audit --drive --table FILE") from None


def compare(name: str, earlier: EarlierRun, outcomes: Sequence[Outcome]) -> Comparison:
    """Compare the outcomes with those of the earlier run, whose file has this name."""
    before = {each.name: each for each in earlier.situations}
    common = [each for each in outcomes if each.name in before]
    missed = {each.name: each.why or "" for each in common if before[each.name].reached and not each.reached}
    changes = [change for code in registered() if (change := _changed(code, earlier, before, common)) is not None]
    return Comparison(
        against=name, clients_before=earlier.clients, clients=sorted({client for each in outcomes for client in each.clients}),
        situations=[each.name for each in common], missed=missed,
        changes=sorted(changes, key=lambda each: (ORDER.index(each.change), each.severity != ERROR, each.rule)),
    )  # fmt: skip


ORDER: Final = (NEW, UNCLEAR, STAYS, UNSEEN, GONE)
"""The possible changes, those that ask for work first."""


def _changed(code: str, earlier: EarlierRun, before: dict[str, EarlierSituation], common: Sequence[Outcome]) -> Change | None:
    was = [each.name for each in common if _verdict(before[each.name], code) == BROKEN]
    broken = [each for each in common if each.verdict(code) == BROKEN]
    if not was and not broken:
        return None
    finding = next((each for outcome in broken if outcome.source for each in outcome.source.audit.rules[code].findings), None)
    change, why = _kind(code, earlier, before, common, was, broken)
    return Change(
        rule=code, severity=registered()[code].severity, change=change, before=was, now=[each.name for each in broken],
        sentence=None if finding is None else finding.sentence, why=why,
    )  # fmt: skip


def _kind(
    code: str, earlier: EarlierRun, before: dict[str, EarlierSituation], common: Sequence[Outcome], was: list[str], broken: list[Outcome]
) -> tuple[str, str | None]:
    if was and broken:
        return STAYS, None
    if broken:
        if code not in earlier.rules:
            return UNCLEAR, "the earlier run did not apply this rule"
        if not any(before[each.name].reached for each in broken):
            return UNCLEAR, "the earlier run did not reach these situations"
        return NEW, None
    verdicts = {each.verdict(code) for each in common if each.name in was}
    return (GONE, None) if KEPT in verdicts else (UNSEEN, f"now {' or '.join(sorted(verdicts))}")


def _verdict(situation: EarlierSituation, code: str) -> str:
    return situation.rules[code].verdict if code in situation.rules else NOT_EXERCISED


def comparison_lines(found: Comparison) -> Iterator[str]:
    """Yield the comparison as text, a line for each rule."""
    clients = [", ".join(map(one_line, names)) or "an unknown library" for names in (found.clients_before, found.clients)]
    count = len(found.situations)
    yield f"compared with {one_line(found.against)} ({clients[0]}; now {clients[1]}) in {count} situation{'' if count == 1 else 's'}:"
    for each in found.changes:
        yield f"  {each.change:8} {each.rule:10} {_told(each)}"
    for name, why in found.missed.items():
        yield f"  {name} was reached before and is not now: {one_line(why)}"
    if not found.changes and not found.missed:
        yield "  no rule was broken in either run"


def _told(change: Change) -> str:
    warning = "" if change.severity == ERROR else f"({change.severity}) "
    before = f"broken before in {_named(change.before)}" if change.before else "not broken before"
    if change.change == GONE:
        return f"{warning}{before}, kept now"
    if change.change == UNSEEN:
        return f"{warning}{before}, {change.why}"
    why = f" ({change.why})" if change.why else ""
    sentence = f": {one_line(change.sentence)}" if change.sentence else ""
    return f"{warning}{before}, broken now in {_named(change.now)}{why}{sentence}"


def _named(situations: list[str]) -> str:
    hidden = len(situations) - SHOWN
    return ", ".join(situations[:SHOWN]) + (f" and {hidden} more" if hidden > 0 else "")
