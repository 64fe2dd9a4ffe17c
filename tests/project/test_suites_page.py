"""The page about the clients' own transactional tests agrees with the record."""

from __future__ import annotations

import json

from tools.pages import suites_page
from tools.records import RECORDS


def test_whatever_passes_on_kafka_passes_here() -> None:
    record = json.loads((RECORDS / "suites.json").read_text(encoding="utf-8"))
    names = {"aiokafka", "confluent-kafka", "franz-go", "franz-go-shares", "kafkajs", "librdkafka", "librdkafka-groups"}
    assert set(record) == names
    assert [each["test"] for suite in record.values() for each in suite["tests"] if each["kafka"] and not each["groupmock"]] == []


def test_the_page_counts_and_names_what_fails() -> None:
    tests = [
        {"test": "commits", "groupmock": True, "kafka": True, "said": ""},
        {"test": "a | b", "groupmock": False, "kafka": True, "said": "no `c`"},
        {"test": "tls", "groupmock": False, "kafka": False, "said": ""},
    ]
    told = suites_page.page({"one": {"client": "one 1.0", "nodes": 3, "tests": tests}})
    assert "| one 1.0 | 4.3.0 | 3 | 3 | 1 | 2 | 1 |" in told
    assert "| `a \\| b` | **fails** | passes | `no 'c'` |" in told
    assert "| `tls` | **fails** | **fails** |  |" in told
    assert "commits` |" not in told
