"""Find the rows (rules) of the probe that a release breaks if it is judged as the newest release with a profile. The probe repeats a
broken dialogue twice before it counts, and the rows are asked of the predecessor too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from groupmock_clients.probe.language.exchange import BASE_SETTINGS
from groupmock_clients.probe.language.exchange_suite import load_suite
from groupmock_clients.probe.program import Options, probe
from groupmock_clients.probe.schedule import Pace
from groupmock_clients.probe.verdicts.outcome import BROKEN, UNKNOWN
from groupmock_clients.probe.verdicts.report_model import Report, RowResult
from groupmock_clients.probe.verdicts.selection import Wishes
from tools.oracle import kafka

LONGEST_S: Final = 60
AT_A_TIME: Final = 24
SHORT_SESSION: Final = "group.consumer.session.timeout.ms"
FLOORS: Final = {"group.consumer.min.session.timeout.ms": "1000", "group.consumer.min.heartbeat.interval.ms": "100"}
"""Settings with lower bounds than Kafka's, without which a broker with a short session timeout of consumer groups does not start."""


class BrokenRow(msgspec.Struct, frozen=True):
    """A row (rule) of the probe that the release breaks, on a broker with these settings beside the probe's own. `before` is the verdict
    of the predecessor; `problems` are what the first broken dialogue showed."""

    row: str
    settings: dict[str, str]
    says: str
    place: str
    step: str
    problems: tuple[str, ...]
    exchanges: tuple[str, ...]
    before: str


class ProbeFindings(msgspec.Struct, frozen=True):
    """The outcome of a probe: the rows (rules) by verdict, the broken ones, and for each reason the number of rows that stay unknown."""

    judged_as: str
    rows: dict[str, int]
    broken: tuple[BrokenRow, ...]
    unknown: dict[str, int]


def probed(version: str, beside: str, release: str, only: Sequence[str]) -> ProbeFindings:
    """Probe a broker of the new version, first with the settings of most exchanges, then with those that the others need, and probe its
    predecessor for the broken rows (rules)."""
    plain = _probed(version, release, {}, only)
    broken = list(_broken_beside(plain, beside, release, {}))
    unknown = {row.row: row.detail for row in plain.rows if row.verdict == UNKNOWN}
    for settings, names in further_settings(plain).items():
        report = _probed(version, release, dict(settings), names)
        broken += _broken_beside(report, beside, release, dict(settings))
        for row in report.rows:
            if row.verdict != UNKNOWN:
                unknown.pop(row.row, None)
    rows = {**plain.counts["rows"], UNKNOWN: len(unknown), BROKEN: len({row.row for row in broken})}
    reasons = [detail.partition(": ")[2] or detail for detail in unknown.values()]
    return ProbeFindings(release, rows, tuple(broken), {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)})


def _probed(version: str, release: str, settings: Mapping[str, str], only: Sequence[str]) -> Report:
    with kafka(version, {**BASE_SETTINGS, **(FLOORS if SHORT_SESSION in settings else {}), **settings}) as bootstrap:
        return judged(bootstrap, release, only)


def further_settings(report: Report) -> dict[tuple[tuple[str, str], ...], list[str]]:
    """Map the settings that dialogues lack on this broker, and for which they stay unknown, to the exchanges that need them."""
    exchanges = {each.name: each for each in load_suite().exchanges}
    found: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for result in report.exchanges:
        exchange = exchanges[result.name.partition("[")[0]]
        if result.verdict == UNKNOWN and result.detail.startswith("needs ") and exchange.settings and not exchange.lacking:
            found.setdefault(tuple(sorted(exchange.settings.items())), []).append(exchange.name)
    return {settings: list(dict.fromkeys(names)) for settings, names in found.items()}


def _broken_beside(report: Report, beside: str, release: str, settings: Mapping[str, str]) -> Iterator[BrokenRow]:
    """Yield the broken rows of a report, each with the verdict on the predecessor."""
    broken = [row for row in report.rows if row.verdict == BROKEN]
    if broken:
        before = {row.row: row.verdict for row in _probed(beside, release, settings, [row.row for row in broken]).rows}
        yield from (_broken(report, row, settings, before.get(row.row, "not asked")) for row in broken)


def judged(bootstrap: str, release: str, only: Sequence[str] = ()) -> Report:
    """Probe a running broker and return the report. Raises NoBroker."""
    host, _, port = bootstrap.rpartition(":")
    wishes = Wishes(only=tuple(only), longest_s=LONGEST_S)
    return probe(Options(host, int(port), release, wishes=wishes, pace=Pace(parallel=AT_A_TIME, seconds=1800)), load_suite())


def _broken(report: Report, row: RowResult, settings: Mapping[str, str], before: str) -> BrokenRow:
    dialogues = [each for each in report.exchanges if row.row in each.rows and each.broken is not None]
    first = next((each.broken for each in dialogues if each.broken is not None), None)
    names = tuple(each.name for each in dialogues)
    if first is None:
        return BrokenRow(row.row, dict(settings), row.says, "", "", (row.detail,), names, before)
    return BrokenRow(row.row, dict(settings), row.says, first.place, first.step, first.problems or (first.seen,), names, before)
