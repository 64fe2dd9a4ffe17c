"""Tables of scenarios are built from stored results."""

from __future__ import annotations

from scenario_figures import figures, one, results

from groupmock_clients.scenarios import table
from groupmock_clients.scenarios.results import from_json, to_json


def test_results_come_back_from_json() -> None:
    found = results(one(agreed=True), one(client="kafka-python", figures=None, trouble="missed: nobody came", broken=["I1"]))
    assert from_json(to_json(found)) == found


def test_a_cell_has_the_document_s_word_where_it_has_one() -> None:
    lines = table.characteristics(results(one("rolling-bounce", "design-1"), one("rolling-bounce", "range"), one("leader-exit")))
    assert lines == [
        "|  | eager range<br>aiokafka | Design I<br>aiokafka | Design II<br>aiokafka |",
        "|---|---|---|---|",
        "| Rolling bounce | 3 · 1.2 s | IMPROVED: 3 · 1.2 s | – |",
    ]


def test_the_first_client_that_has_the_protocol_is_shown() -> None:
    found = results(one(client="kafka-python"), one(client="aiokafka-twin", figures=figures(moved=9)))
    assert table.characteristics(found)[0] == "|  | Design II<br>kafka-python |"
    assert table.characteristics(found, ["aiokafka-twin", "kafka-python"])[2] == "| Scale up | YES: 9 · 1.2 s |"


def test_what_could_not_be_measured_says_so_in_one_line() -> None:
    found = results(one(figures=None, trouble="missed: waited 3 s\nand a story | of many lines"))
    assert table.characteristics(found)[2] == "| Scale up | **missed: waited 3 s** |"
    assert "| Design II, aiokafka | **missed: waited 3 s** |" in table.everything(found)[-1]


def test_kafka_connect_has_sizes_of_its_own() -> None:
    assert "Kafka Connect" not in table.sizes(results(one()))
    text = table.sizes(results(one(), one("death-in-time", "connect", "connect")))
    assert text.endswith("seed 1. Kafka Connect: 3 workers, session 6000 ms, heartbeats every 500 ms, delay 25000 ms.")
    text = table.sizes(results(one("death-in-time", "kip-1071", "kafka-streams")))
    assert text.endswith("seed 1. Kafka Streams: 4 instances, session 10000 ms, heartbeats every 500 ms, delay 8000 ms.")
