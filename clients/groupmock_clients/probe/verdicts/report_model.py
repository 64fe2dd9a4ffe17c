"""The results of a run as plain data, from which all reports are made. The JSON form is stable: see docs/how-to/probe.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from ..language.exchange_suite import Statement, Suite
from .outcome import BROKEN, KEPT, MAY_BE_RELEASE, NOT_APPLICABLE, UNKNOWN, VERDICTS, DialogueOutcome

SCHEMA: Final = "groupmock.probe/1"
SUSPECTS_SHOWN: Final = 5


class BrokenDialogue(msgspec.Struct, frozen=True):
    """The place in the file at which a dialogue broke, with the line played and the request whose answer was judged."""

    place: str
    step: str
    sent: str
    expected: str
    seen: str
    problems: tuple[str, ...]


class Aside(msgspec.Struct, frozen=True):
    """An expectation about every answer that was broken in a dialogue about something else: its row (rule) and a sentence."""

    row: str
    problem: str


class ExchangeResult(msgspec.Struct, frozen=True):
    """The result of one dialogue. `stretched` is its slowness compared with the text.

    `transcript` is present if the dialogue broke or on request. `beyond` marks a dialogue that no broker can show to a client.
    """

    name: str
    title: str
    rows: tuple[str, ...]
    verdict: str
    detail: str
    attempts: int
    stretched: float
    seconds: float
    beyond: bool
    broken: BrokenDialogue | None
    asides: tuple[Aside, ...]
    transcript: tuple[str, ...]


class RowResult(msgspec.Struct, frozen=True):
    """The verdict on one row (a statement about brokers), which follows from the dialogues that prove it. It is broken if one of the
    dialogues is, unknown if one could not be judged, and kept if all others are. Dialogues that no broker can show to a client count
    only if there are no others. `kept` of `of` applicable dialogues were kept."""

    row: str
    says: str
    why: str
    kip: str
    place: str
    verdict: str
    detail: str
    kept: int
    of: int
    exchanges: tuple[str, ...]


class BrokerFacts(msgspec.Struct, frozen=True):
    """The broker that was judged. `sure` says how certain the release is, and `newer` whether the broker is newer than every release that
    the probe knows. `settings` maps name to value, and `measured` lists those that the probe found out."""

    address: str
    nodes: int
    release: str
    sure: str
    settings: dict[str, str]
    measured: tuple[str, ...]
    newer: bool = False


class DeathFact(msgspec.Struct, frozen=True):
    """A time at which the judged server stopped accepting connections, as the report tells it.

    `dialogues`: those that contacted it since it was last seen alive. `culprit`: the dialogue that killed it while no other was in progress
    ("" if unknown). `before`: the last one before them ("" after a start). `back` says whether the server came back, and `how` describes
    that.
    """

    dialogues: tuple[str, ...]
    culprit: str
    before: str
    back: bool
    how: str


class Report(msgspec.Struct, frozen=True):
    """The report of a whole run. `started` is UTC in ISO 8601. `left_behind` lists groups and topics that could not be deleted. `deaths`
    are those of the server."""

    schema: str
    groupmock: str
    started: str
    seconds: float
    broker: BrokerFacts
    counts: dict[str, dict[str, int]]
    rows: tuple[RowResult, ...]
    exchanges: tuple[ExchangeResult, ...]
    left_behind: tuple[str, ...]
    deaths: tuple[DeathFact, ...] = ()


def told(death: DeathFact) -> str:
    """Describe a death of the server in one or two sentences."""
    if death.culprit:
        found = f"the server died of {death.culprit}" + ("" if len(death.dialogues) == 1 else ", which killed it again when played alone")
    elif death.dialogues:
        again = "; none of them did it again when played alone" if death.back else ""
        shown = ", ".join(death.dialogues[:SUSPECTS_SHOWN]) + (" ..." if len(death.dialogues) > SUSPECTS_SHOWN else "")
        found = f"the server died while {len(death.dialogues)} dialogues were under way ({shown}){again}"
    else:
        found = "the server died between two dialogues"
    late = f", perhaps late, of {death.before}" if death.before and death.culprit else ""
    return f"{found}{late}; {death.how}"


def exchange_results(
    suite: Suite, outcomes: Iterable[DialogueOutcome], transcripts: bool, newer: bool = False
) -> tuple[ExchangeResult, ...]:
    """Convert the outcomes of dialogues to results. Transcripts of dialogues that are not broken are included on request only. `newer`: the
    broker is newer than every known release, so what differs may be the release. A dialogue that killed the server stays broken."""
    titles = {exchange.name: exchange.title for exchange in suite.exchanges}
    return tuple(_result(each, titles.get(each.name.partition("[")[0], ""), transcripts, newer) for each in outcomes)


def _result(outcome: DialogueOutcome, title: str, transcripts: bool, newer: bool) -> ExchangeResult:
    failure = outcome.failure
    broken = None
    if failure is not None:
        broken = BrokenDialogue(failure.place, failure.step, failure.sent, failure.expected, failure.seen, failure.problems)
    return ExchangeResult(
        outcome.name,
        title,
        outcome.rows,
        MAY_BE_RELEASE if newer and outcome.verdict == BROKEN and not outcome.fatal else outcome.verdict,
        outcome.detail,
        outcome.attempts,
        round(outcome.stretched, 2),
        round(outcome.seconds, 3),
        outcome.beyond,
        broken,
        tuple(Aside(row, problem) for row, problem in dict.fromkeys(outcome.asides)),
        tuple(outcome.transcript) if transcripts or outcome.verdict == BROKEN else (),
    )


def row_results(suite: Suite, asked: Sequence[str], exchanges: Sequence[ExchangeResult], newer: bool = False) -> tuple[RowResult, ...]:
    """Return the verdict on every requested row (a statement about brokers)."""
    of_row: dict[str, list[ExchangeResult]] = {name: [] for name in asked}
    for result in exchanges:
        for name in result.rows:
            if name in of_row:
                of_row[name].append(result)
    asides: dict[str, str] = {}
    for result in exchanges:
        for each in result.asides:
            asides.setdefault(each.row, f"{result.name}: {each.problem}")
    return tuple(_row_result(suite.rows[name], results, asides.get(name), newer) for name, results in of_row.items())


def _row_result(row: Statement, results: Sequence[ExchangeResult], aside: str | None, newer: bool) -> RowResult:
    verdict, detail = (MAY_BE_RELEASE if newer else BROKEN, aside) if aside is not None else _verdict(row, results)
    judged = [each for each in results if each.verdict != NOT_APPLICABLE]
    kept = sum(each.verdict == KEPT for each in results)
    names = tuple(each.name for each in results)
    return RowResult(row.name, row.says, row.why, row.kip, row.place, verdict, detail, kept, len(judged), names)


def _verdict(row: Statement, results: Sequence[ExchangeResult]) -> tuple[str, str]:
    """Combine the verdicts of dialogues into that of a row: broken outweighs `may be the release`, which outweighs unknown, which
    outweighs kept. A row without a dialogue is unknown, never kept."""
    if any(each.verdict == KEPT for each in results):
        results = [each for each in results if not each.beyond]
    for verdict in (BROKEN, MAY_BE_RELEASE, UNKNOWN, KEPT):
        found = [each for each in results if each.verdict == verdict]
        if found:
            return verdict, _summary(found) if verdict != KEPT else ""
    if results:
        return NOT_APPLICABLE, _summary(results)
    return UNKNOWN, f"needs {row.needs}" if row.needs else "no exchange speaks of it"


def _summary(results: Sequence[ExchangeResult]) -> str:
    """List the distinct details of dialogues, each with the first exchange that has it."""
    first: dict[str, str] = {}
    for each in results:
        first.setdefault(each.detail, each.name)
    return "; ".join(f"{name}: {detail}" if detail else name for detail, name in list(first.items())[:3])


def counted(results: Iterable[ExchangeResult | RowResult]) -> dict[str, int]:
    """Count how often each verdict occurs, including those that do not occur."""
    found = Counter(each.verdict for each in results)
    return {verdict: found[verdict] for verdict in VERDICTS}


def counts(rows: Sequence[RowResult], exchanges: Sequence[ExchangeResult]) -> dict[str, dict[str, int]]:
    return {"rows": counted(rows), "exchanges": counted(exchanges)}


def telling(settings: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Select the broker's settings that the exchanges depend on."""
    return {name: settings[name] for name in sorted(names) if name in settings}
