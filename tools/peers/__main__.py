"""Judges other Kafka-like servers with the probe and writes docs/peers.md from the reports.

    python -m tools.peers judge NAME [--output FILE]     one of PEERS; writes the report as JSON (default tools/records/peers/NAME.json)
    python -m tools.peers keep NAME REPORT                a report of `groupmock probe --report json` as tools/records/peers/NAME.json
    python -m tools.peers page [--check]                  docs/peers.md from tools/records/peers/*.json

A peer that dies is started again, and the exchange that killed it is broken: nothing a client sends may end a broker.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from groupmock_clients.probe.command import Options, probe
from groupmock_clients.probe.language.exchange import BASE_SETTINGS, Exchange
from groupmock_clients.probe.language.exchange_suite import Suite, load_suite
from groupmock_clients.probe.language.scope import MIN_SESSION
from groupmock_clients.probe.report.json import as_json, from_json
from groupmock_clients.probe.schedule import DIED as DIED_THERE
from groupmock_clients.probe.schedule import GONE, Pace
from groupmock_clients.probe.verdicts.outcome import BROKEN, VERDICTS
from groupmock_clients.probe.verdicts.report_model import Broken, ExchangeResult, Report, counts, row_results
from groupmock_clients.probe.verdicts.selection import Wishes
from tools.records import RECORDS

TREE = Path(__file__).resolve().parents[2]
DATA = RECORDS / "peers"
PAGE = TREE / "docs" / "peers.md"
AT_A_TIME = 12
READY_SECONDS = 60
DIED = "the server died of it"


@dataclass(frozen=True)
class Peer:
    """`command`: starts it, printing one JSON line with its bootstrap address; `settings`: those it has and does not tell; `at_most`:
    versions not to go beyond, where a server advertises what it cannot read."""

    title: str
    command: Callable[[], list[str]]
    settings: Mapping[str, str]
    at_most: Mapping[str, int] = field(default_factory=dict)


def _kfake() -> list[str]:
    binary = Path(tempfile.gettempdir()) / "groupmock-kfake"
    subprocess.run(["go", "build", "-o", str(binary), "."], cwd=TREE / "benchmarks" / "kfake", check=True)
    return [str(binary)]


def _groupmock() -> list[str]:
    sets = [word for name, value in BASE_SETTINGS.items() for word in ("--set", f"{name}={value}")]
    return [sys.executable, "-m", "groupmock", "serve", "--port", "0", "--log", "off", "--profile", "kafka-4.3", *sets]


PEERS = {
    "librdkafka": Peer("librdkafka's mock cluster", lambda: [sys.executable, "-m", "benchmarks.peers.cmock", "400"], BASE_SETTINGS),
    "librdkafka-below-flexible": Peer(
        "librdkafka's mock cluster, versions before the flexible ones alone",
        lambda: [sys.executable, "-m", "benchmarks.peers.cmock", "400"],
        BASE_SETTINGS,
        {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3, "OffsetCommit": 7, "OffsetFetch": 5, "FindCoordinator": 2},
    ),
    "kfake": Peer("kfake (franz-go)", _kfake, {}),
    "groupmock": Peer("groupmock, profile kafka-4.3", _groupmock, BASE_SETTINGS),
}
KAFKA = "apache-kafka-"
"""How the reports of Apache Kafka itself are called: taken with `groupmock probe --report json`, kept by `keep`."""


@contextmanager
def running(command: Sequence[str]) -> Iterator[tuple[str, int, subprocess.Popen[bytes]]]:
    """A server of its own: host, port, process."""
    with subprocess.Popen(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            host, _, port = json.loads(process.stdout.readline())["bootstrap"].split(",")[0].rpartition(":")
            yield host, int(port), process
        finally:
            process.kill()


def judge(peer: Peer) -> Report:
    """Every exchange against the peer, as Kafka 4.3."""
    suite, command = load_suite(), peer.command()
    began = time.monotonic()
    parts: list[Report] = []
    for at in range(0, len(suite.exchanges), AT_A_TIME):
        parts += _batch(peer, command, suite, suite.exchanges[at : at + AT_A_TIME])
        print(f"{min(at + AT_A_TIME, len(suite.exchanges))} of {len(suite.exchanges)} exchanges", file=sys.stderr, flush=True)
    return _joined(suite, parts, time.monotonic() - began)


def _batch(peer: Peer, command: Sequence[str], suite: Suite, exchanges: Sequence[Exchange]) -> list[Report]:
    """Some exchanges against one process; if that dies, each half of them against one of its own."""
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
    """The report with other results."""
    return msgspec.structs.replace(report, exchanges=exchanges)


def _options(peer: Peer, host: str, port: int) -> Options:
    pace = Pace(parallel=12, retries=1, seconds=120, wait=0)
    return Options(
        host=host,
        port=port,
        release="4.3",
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
    """What the page needs: every row, and of the dialogues those that broke, without their transcripts."""
    broken = [each for each in report.exchanges if each.verdict == BROKEN]
    names = {each.name for each in broken}
    return msgspec.structs.replace(
        report,
        exchanges=tuple(msgspec.structs.replace(each, transcript=(), broken=_short(each.broken)) for each in broken),
        rows=tuple(msgspec.structs.replace(row, exchanges=tuple(name for name in row.exchanges if name in names)) for row in report.rows),
    )


def _short(broken: Broken | None) -> Broken | None:
    if broken is None:
        return None
    return msgspec.structs.replace(broken, sent="", seen="", problems=tuple(_cell(each) for each in broken.problems))


# ---- the page ----------------------------------------------------------------------------------------------------------------------


def page(reports: dict[str, Report]) -> str:
    """docs/peers.md."""
    return "\n".join(_page(reports)) + "\n"


def _page(reports: dict[str, Report]) -> Iterator[str]:
    yield "# What other servers keep of it"
    yield ""
    yield "Written by `python -m tools.peers page` from reports in `tools/records/peers`, which `python -m tools.peers judge NAME` takes."
    yield "Each was judged by the same exchanges, as the release named. *Unknown* is what could not be provoked there (other settings, a"
    yield "coordinator that moves on command, a group that could not be brought so far), *not applicable* what the server does not offer."
    yield "A row is broken by its first difference, an echoed member id as much as an error code: the tables say which it was. A server"
    yield "without an initial delay cannot be brought to have two members in its first generation: what begins with that is unknown."
    yield ""
    yield f"| server | judged | as Kafka | rows {' | rows '.join(VERDICTS)} | dialogues kept of judged |"
    yield "|---" * (len(VERDICTS) + 4) + "|"
    for name, report in reports.items():
        rows, dialogues = report.counts["rows"], report.counts["exchanges"]
        numbers = " | ".join(str(rows[verdict]) for verdict in VERDICTS)
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
    others = 0
    for row in report.rows:
        if row.verdict == BROKEN and not row.row.startswith("SERVER-"):
            others += 1
        elif row.verdict == BROKEN:
            first = next((results[each] for each in row.exchanges), None)
            seen = f"{first.name}: {_seen(first)}" if first is not None else row.detail
            yield f"| {row.row} | {_cell(row.says)} | {_cell(seen)} |"
    refused = [each.name for each in report.exchanges if each.broken and any("26 seen" in problem for problem in each.broken.problems)]
    died = sorted({each.name.partition("[")[0] for each in report.exchanges if each.detail == DIED})
    yield ""
    yield f"Beside these, {others} rows of the decision tables and the findings are broken."
    if refused and MIN_SESSION in report.broker.settings and MIN_SESSION not in report.broker.measured:
        counted = report.broker.settings[MIN_SESSION]
        yield f"{len(refused)} dialogues broke on error 26: a minimum session above the {counted} ms that the judge counted on."
    if died:
        yield f"The server died of {len(died)} exchanges: {', '.join(died)}."


def _seen(result: ExchangeResult) -> str:
    return "; ".join(result.broken.problems) if result.broken is not None else result.detail


def _cell(text: str) -> str:
    text = " ".join(text.split()).replace("|", "\\|")
    return text if len(text) <= 160 else text[:157] + "..."


def _title(name: str) -> str:
    if name.startswith(KAFKA):
        return f"Apache Kafka {name.removeprefix(KAFKA)}, its defaults"
    return PEERS[name].title if name in PEERS else name


def reports_on_disk() -> dict[str, Report]:
    """Name -> report, Apache Kafka first."""
    found = {file.stem: from_json(file.read_bytes()) for file in DATA.glob("*.json")}
    return dict(sorted(found.items(), key=lambda item: (not item[0].startswith(KAFKA), item[0] != "groupmock", item[0])))


def main(words: Sequence[str]) -> int:
    """0; 1 when --check finds another page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    judging = verbs.add_parser("judge")
    judging.add_argument("name", choices=PEERS)
    judging.add_argument("--output", type=Path)
    keeping = verbs.add_parser("keep")
    keeping.add_argument("name")
    keeping.add_argument("report", type=Path)
    paging = verbs.add_parser("page")
    paging.add_argument("--check", action="store_true")
    asked = parser.parse_args(words)
    if asked.verb == "judge":
        file = asked.output or DATA / f"{asked.name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(as_json(judge(PEERS[asked.name])))
        return 0
    if asked.verb == "keep":
        report = from_json(asked.report.read_bytes())
        facts = msgspec.structs.replace(report.broker, address="127.0.0.1")
        (DATA / f"{asked.name}.json").write_text(as_json(slim(msgspec.structs.replace(report, broker=facts, left_behind=()))))
        return 0
    text = page(reports_on_disk())
    if asked.check:
        return 0 if PAGE.is_file() and PAGE.read_text() == text else 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
