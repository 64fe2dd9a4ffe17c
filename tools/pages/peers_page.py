"""Write the page about other servers: which of Apache Kafka's rules they keep, as the probe found."""

from __future__ import annotations

from collections.abc import Iterator

from groupmock_clients.probe.language.exchange_suite import load_suite
from groupmock_clients.probe.language.scope import MIN_SESSION
from groupmock_clients.probe.report.json import from_json
from groupmock_clients.probe.verdicts.outcome import BROKEN, VERDICTS
from groupmock_clients.probe.verdicts.report_model import ExchangeResult, Report
from tools.peers.peer_servers import KAFKA, PEERS
from tools.peers.probing import DIED, older_than_rules, short
from tools.records import RECORDS

from .markdown import notice


def text() -> str:
    return page(reports_on_disk())


def outdated() -> list[str]:
    """Return a sentence for each report that is older than the rules."""
    return older_than_rules(reports_on_disk(), load_suite())


def page(reports: dict[str, Report]) -> str:
    return "\n".join(_page(reports)) + "\n"


def _page(reports: dict[str, Report]) -> Iterator[str]:
    yield notice("peers", "peers/*.json")
    yield "# Other servers, judged by the same rules"
    yield ""
    yield "The reports on other servers are in `tools/records/peers` and are written by `python -m tools.peers judge NAME`."
    yield "Each server was judged by the same exchanges, by the rules of the Kafka release in its line."
    yield "A row is *unknown* if its situation could not"
    yield "be provoked on that server (other settings, coordinators that cannot be moved, a group that did not reach the state), and *not"
    yield "applicable* if the server does not support the subject of the row. One difference breaks a row, for instance an error code or"
    yield "an echoed member id, and the tables name this difference. On a server without an initial rebalance delay no first generation"
    yield "has two members, so that rows that need two members in the first generation are unknown for this server."
    yield ""
    # A report that was made before a verdict existed has no count of it.
    verdicts = [verdict for verdict in VERDICTS if any(verdict in report.counts["rows"] for report in reports.values())]
    yield f"| server | judged | as Kafka | rows {' | rows '.join(verdicts)} | dialogues kept of judged |"
    yield "|---" * (len(verdicts) + 4) + "|"
    for name, report in reports.items():
        rows, dialogues = report.counts["rows"], report.counts["exchanges"]
        numbers = " | ".join(str(rows.get(verdict, 0)) for verdict in verdicts)
        judged = dialogues["kept"] + dialogues["broken"]
        yield f"| {_title(name)} | {report.started[:10]} | {report.broker.release} | {numbers} | {dialogues['kept']} of {judged} |"
    for name, report in reports.items():
        if any(row.verdict == BROKEN for row in report.rows):
            yield ""
            yield from _broken(name, report)


def _broken(name: str, report: Report) -> Iterator[str]:
    yield f"## {_title(name)}: SERVER rows broken"
    yield ""
    yield "| row | it says | seen instead |"
    yield "|---|---|---|"
    results = {each.name: each for each in report.exchanges}
    statements = load_suite().rows
    others = 0
    for row in report.rows:
        if row.verdict == BROKEN and not row.row.startswith("SERVER-"):
            others += 1
        elif row.verdict == BROKEN:
            first = next((results[each] for each in row.exchanges), None)
            seen = f"{first.name}: {_seen(first)}" if first is not None else row.detail
            yield f"| {row.row} | {short(statements[row.row].says if row.row in statements else row.says)} | {short(seen)} |"
    refused = [each.name for each in report.exchanges if each.broken and any("26 seen" in problem for problem in each.broken.problems)]
    died = sorted({each.name.partition("[")[0] for each in report.exchanges if each.detail == DIED})
    yield ""
    yield f"The server also breaks {others} rows that are not SERVER rows: rules of the decision tables, and facts seen on running brokers."
    if refused and MIN_SESSION in report.broker.settings and MIN_SESSION not in report.broker.measured:
        counted = report.broker.settings[MIN_SESSION]
        yield f"{len(refused)} dialogues were broken by INVALID_SESSION_TIMEOUT (26), because the server's minimum session timeout is above"
        yield f"the {counted} ms that the probe assumed."
    if died:
        yield f"The server died during {len(died)} exchange{'s' if len(died) > 1 else ''}: {', '.join(died)}."


def _seen(result: ExchangeResult) -> str:
    return "; ".join(result.broken.problems) if result.broken is not None else result.detail


def _title(name: str) -> str:
    if name.startswith(KAFKA):
        return f"Apache Kafka {name.removeprefix(KAFKA)}"
    return PEERS[name].title if name in PEERS else name


def reports_on_disk() -> dict[str, Report]:
    """Return the recorded reports by the servers' names, Apache Kafka first."""
    found = {file.stem: from_json(file.read_bytes()) for file in (RECORDS / "peers").glob("*.json")}
    return dict(sorted(found.items(), key=lambda item: (not item[0].startswith(KAFKA), item[0] != "groupmock", item[0])))
