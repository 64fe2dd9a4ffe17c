"""Write docs/start/compare.md: a hand-written page with the probe's results about each server and the costs of scenarios."""

from __future__ import annotations

from collections.abc import Iterator

from groupmock_clients.probe.report.json import from_json
from tools.pages import scenarios_page
from tools.peers.peer_servers import PROFILE
from tools.records import RECORDS

from .all_pages import path
from .marked_tables import with_table

PEERS = {
    "apache-kafka-4.4.0": "Apache Kafka 4.4.0",
    "groupmock": f"groupmock, `--profile {PROFILE}`",
    "kfake": "kfake",
    "librdkafka": "librdkafka's mock",
}
"""Maps a report in tools/records/peers to the server's title."""


def text() -> str:
    page = with_table(path("compare").read_text(encoding="utf-8"), peers(), "peers")
    return with_table(page, scenarios_page.twins_table(RECORDS), "scenarios")


def peers() -> str:
    """Return a table of how many rules about groups each server keeps and breaks, from the reports of the probe."""

    def lines() -> Iterator[str]:
        yield "| judged by `groupmock probe` | as Kafka | rules asked | kept | broken |"
        yield "|---|---|---|---|---|"
        for file, title in PEERS.items():
            report = from_json((RECORDS / "peers" / f"{file}.json").read_bytes())
            rows = report.counts["rows"]
            yield f"| {title} | {report.broker.release} | {len(report.rows)} | {rows['kept']} | {rows['broken']} |"

    return "\n".join(lines())
