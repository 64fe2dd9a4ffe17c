"""The page about scenarios and its comparison table are made from recorded results."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenario_figures import one, results

from groupmock_clients.scenarios.results import to_json
from tools.pages import scenarios_page as page


def test_the_page_has_the_parts_that_there_is_data_for(tmp_path: Path) -> None:
    (tmp_path / page.VIRTUAL).write_bytes(to_json(results(one(client="scripted"), stage="virtual")))
    text = page.page(tmp_path)
    assert "## Everything, virtual" in text and "## Live" not in text and "A large group" not in text
    (tmp_path / page.LIVE).write_bytes(to_json(results(one(agreed=True))))
    (tmp_path / page.LARGE).write_bytes(to_json(results(one(client="scripted"), stage="virtual")))
    text = page.page(tmp_path)
    assert all(f"\n## {part}\n" in text for part in ("Live", "Live and virtual", "A large group, virtual", "Everything, live"))
    assert "* A *generation* is" in text and "150 ms" in text
    assert "Kafka Streams" not in text
    streams = [one(protocol=protocol, client="scripted") for protocol in ("kip-1071", "streams-classic")]
    (tmp_path / page.VIRTUAL).write_bytes(to_json(results(one(client="scripted"), *streams, stage="virtual")))
    text = page.page(tmp_path)
    assert "## Kafka Streams, virtual" in text
    assert "|  | Streams, classic<br>scripted | Streams, KIP-1071<br>scripted |" in text
    stock = [one(protocol=protocol, client="kafka-streams") for protocol in ("kip-1071", "streams-classic")]
    (tmp_path / page.LIVE).write_bytes(to_json(results(one(agreed=True), *stock)))
    text = page.page(tmp_path)
    assert "## Kafka Streams, live" in text and "Kafka Streams: 4 instances, session 10000 ms" in text
    assert "|  | Streams, classic<br>kafka-streams | Streams, KIP-1071<br>kafka-streams |" in text
    assert "kafka-streams" not in page.twins_table(tmp_path)


def test_the_page_names_what_was_not_as_it_should_be(tmp_path: Path) -> None:
    wrong = [
        one(agreed=True),
        one(client="kafka-python", agreed=False, broken=["moves and rounds were 3 and 4, of its virtual twin 3 and 2"]),
        one("death-in-time", figures=None, trouble="missed: nobody came\nstory"),
    ]
    (tmp_path / page.LIVE).write_bytes(to_json(results(*wrong)))
    text = page.page(tmp_path)
    assert "2 of 3 live runs were compared with a virtual run of the same sizes; 1 of them count the same moved partitions" in text
    assert "- scale-up, Design II, kafka-python: moves and rounds were 3 and 4, of its virtual twin 3 and 2\n" in text
    assert "- death-in-time, Design II, aiokafka: missed: nobody came\n" in text


def test_readme_shows_the_live_table_and_else_the_virtual_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="`make scenarios` makes them"):
        page.twins_table(tmp_path)
    (tmp_path / page.VIRTUAL).write_bytes(to_json(results(one(client="scripted"), stage="virtual")))
    assert "Scripted members on the virtual clock: 4 members" in page.twins_table(tmp_path)
    (tmp_path / page.LIVE).write_bytes(to_json(results(one())))
    assert "Stock clients over TCP (aiokafka 0.14.0): 4 members" in page.twins_table(tmp_path)
