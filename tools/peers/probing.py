"""Play the probe's exchanges against a server, some at a time. A server that dies is started again, and the exchange that killed it is
broken."""

from __future__ import annotations

import sys
import time
from collections.abc import Container, Mapping, Sequence
from typing import Final

import msgspec

from groupmock_clients.probe.language.exchange import Exchange
from groupmock_clients.probe.language.exchange_suite import Suite, load_suite
from groupmock_clients.probe.program import Options, probe
from groupmock_clients.probe.schedule import DIED as DIED_THERE
from groupmock_clients.probe.schedule import GONE, Pace
from groupmock_clients.probe.verdicts.outcome import BROKEN
from groupmock_clients.probe.verdicts.report_model import BrokenDialogue, ExchangeResult, Report, counts, row_results
from groupmock_clients.probe.verdicts.selection import Wishes
from tools.pages.markdown import cell

from .peer_servers import Peer, running

AT_A_TIME: Final = 12
DIED: Final = "the server died of it"
OF_SECURITY: Final = "SEC-"


def plain_suite(known: Container[str] = ()) -> Suite:
    """Return all rows but those about security, for which the servers lack listeners, with the exchanges that prove them. Rows in `known`
    are left out."""
    suite = load_suite()
    rows = {name: statement for name, statement in suite.rows.items() if name not in known and not name.startswith(OF_SECURITY)}
    return Suite(tuple(each for each in suite.exchanges if rows.keys() & set(each.rows)), rows)


def plain(report: Report) -> Report:
    """Return a report of `groupmock probe` without the rows about security, and without what identifies the broker."""
    rows = tuple(row for row in report.rows if not row.row.startswith(OF_SECURITY))
    facts = msgspec.structs.replace(report.broker, address="127.0.0.1")
    totals = {**report.counts, "rows": counts(rows, report.exchanges)["rows"]}
    return slim(msgspec.structs.replace(report, broker=facts, rows=rows, counts=totals, left_behind=()))


def added(before: Report, later: Report) -> Report:
    """Return a report with the rows that a later report has besides. The counts of exchanges add up, because no exchange is in both."""
    known = {row.row for row in before.rows}
    new = [row for row in later.rows if row.row not in known]
    totals = {
        kind: {verdict: count + later.counts[kind].get(verdict, 0) for verdict, count in each.items()}
        for kind, each in before.counts.items()
    }
    rows = (*before.rows, *new)
    by_verdict = {verdict: sum(row.verdict == verdict for row in rows) for verdict in totals["rows"]}
    exchanges = (*before.exchanges, *later.exchanges)
    return msgspec.structs.replace(before, rows=rows, counts={**totals, "rows": by_verdict}, exchanges=exchanges)


def judge(peer: Peer, suite: Suite) -> Report:
    """Play the exchanges of a suite against the server, and judge them."""
    command = peer.command()
    began = time.monotonic()
    parts: list[Report] = []
    for at in range(0, len(suite.exchanges), AT_A_TIME):
        parts += _batch(peer, command, suite, suite.exchanges[at : at + AT_A_TIME])
        print(f"{min(at + AT_A_TIME, len(suite.exchanges))} of {len(suite.exchanges)} exchanges", file=sys.stderr, flush=True)
    return _joined(suite, parts, time.monotonic() - began)


def _batch(peer: Peer, command: Sequence[str], suite: Suite, exchanges: Sequence[Exchange]) -> list[Report]:
    """Play some exchanges against one process of the server. If the process dies, play each half against a process of its own."""
    with running(command) as (host, port, process):
        report = probe(_options(peer, host, port), Suite(tuple(exchanges), suite.rows))
        died = process.poll() is not None or bool(report.deaths)
    if not died:
        return [report]
    if len(exchanges) > 1:
        middle = len(exchanges) // 2
        return [part for half in (exchanges[:middle], exchanges[middle:]) for part in _batch(peer, command, suite, half)]
    return [replaced(report, tuple(_killed(each) for each in report.exchanges))]


def _killed(result: ExchangeResult) -> ExchangeResult:
    if result.detail == GONE or DIED_THERE in result.detail:
        return msgspec.structs.replace(result, verdict=BROKEN, detail=DIED)
    return result


def replaced(report: Report, exchanges: tuple[ExchangeResult, ...]) -> Report:
    return msgspec.structs.replace(report, exchanges=exchanges)


def _options(peer: Peer, host: str, port: int) -> Options:
    pace = Pace(parallel=12, retries=1, seconds=120, wait=0)
    return Options(
        host=host,
        port=port,
        release=peer.release,
        wishes=Wishes(longest_s=12),
        pace=pace,
        patience=2,
        settings=peer.settings,
        at_most=peer.at_most,
    )


def _joined(suite: Suite, parts: Sequence[Report], seconds: float) -> Report:
    exchanges = tuple(each for part in parts for each in part.exchanges)
    rows = row_results(suite, list(suite.rows), exchanges)
    facts = msgspec.structs.replace(parts[0].broker, address="127.0.0.1")
    return slim(
        msgspec.structs.replace(
            parts[0], broker=facts, seconds=round(seconds), exchanges=exchanges, rows=rows, counts=counts(rows, exchanges), left_behind=()
        )
    )


def slim(report: Report) -> Report:
    """Reduce a report to what the page needs: every row, and the broken dialogues without their transcripts."""
    broken = [each for each in report.exchanges if each.verdict == BROKEN]
    names = {each.name for each in broken}
    return msgspec.structs.replace(
        report,
        exchanges=tuple(msgspec.structs.replace(each, transcript=(), broken=_short(each.broken)) for each in broken),
        rows=tuple(msgspec.structs.replace(row, exchanges=tuple(name for name in row.exchanges if name in names)) for row in report.rows),
    )


def _short(broken: BrokenDialogue | None) -> BrokenDialogue | None:
    if broken is None:
        return None
    return msgspec.structs.replace(broken, sent="", seen="", problems=tuple(short(each) for each in broken.problems))


def older_than_rules(reports: Mapping[str, Report], suite: Suite) -> list[str]:
    """Return a sentence for each report whose rows (rules) are not those of the suite. Rows about security do not count, because the
    other servers are judged by plain listeners."""
    found: list[str] = []
    rules = {row for row in suite.rows if not row.startswith(OF_SECURITY)}
    for name, report in reports.items():
        if changed := sorted(rules ^ {row.row for row in report.rows if not row.row.startswith(OF_SECURITY)}):
            found.append(
                f"the report of {name} was made with other rules than the probe has now ({len(changed)} differ, {changed[0]} first): "
                f"judge the server again by `python -m tools.peers`"
            )
    return found


def short(text: str) -> str:
    text = cell(" ".join(text.split()))
    return text if len(text) <= 160 else text[:157] + "..."
