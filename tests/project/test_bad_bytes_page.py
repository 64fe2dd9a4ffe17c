"""docs/bad-bytes.md is its data, and nobody wrote by hand that we react as Kafka."""

from __future__ import annotations

import copy
import json
from pathlib import Path

from tools.pages import bad_bytes_page
from tools.records import RECORDS

PAGE, DATA = "bad-bytes.md", "bad-bytes.json"


def test_the_page_is_its_data(tree: Path) -> None:
    data = json.loads((RECORDS / DATA).read_text())
    assert (tree / "docs" / PAGE).read_text() == bad_bytes_page.page(data), "run `make docs`"


def test_three_releases_and_thousands_of_inputs(tree: Path) -> None:
    data = json.loads((RECORDS / DATA).read_text())
    assert set(data) == {"4.3", "3.9", "2.8"}
    for release, found in data.items():
        assert sum(one["inputs"] for one in found["classes"].values()) >= 2000, release


def test_a_different_reaction_shows_on_the_page(tree: Path) -> None:
    data = copy.deepcopy(json.loads((RECORDS / DATA).read_text()))
    data["4.3"]["classes"]["HTTP"]["different"] = 2
    assert "| HTTP |" in bad_bytes_page.page(data)
    assert "2 otherwise, see below" in bad_bytes_page.page(data)
