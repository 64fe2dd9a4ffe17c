"""The recorded reports about other servers show no broken rule for Apache Kafka and groupmock."""

from __future__ import annotations

import pytest

from groupmock_clients.probe.report.json import from_json
from tools.records import RECORDS

DATA = RECORDS / "peers"
CLEAN = ("apache-kafka-4.3.0", "apache-kafka-3.9.1", "groupmock")


@pytest.mark.parametrize("name", CLEAN)
def test_nothing_is_broken_where_it_must_not_be(name: str) -> None:
    report = from_json((DATA / f"{name}.json").read_bytes())
    assert [row.row for row in report.rows if row.verdict == "broken"] == []
    assert report.counts["rows"]["kept"] > 230


def test_reports_are_slim() -> None:
    """The page needs no transcripts and dialogues of kept rules, so the repository does not contain them."""
    for file in DATA.glob("*.json"):
        report = from_json(file.read_bytes())
        assert [each.name for each in report.exchanges if each.verdict != "broken" or each.transcript] == []
