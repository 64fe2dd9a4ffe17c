"""The page of bad bytes takes its claims about groupmock's reactions from recorded results."""

from __future__ import annotations

import copy
import json

from tools.pages import bad_bytes_page
from tools.records import RECORDS

DATA = RECORDS / "bad-bytes.json"


def test_bad_bytes_page_has_two_releases_and_thousands_of_inputs() -> None:
    data = json.loads(DATA.read_text())
    assert set(data) == {"4.3", "3.9"}
    for release, found in data.items():
        assert sum(one["inputs"] for one in found["classes"].values()) >= 2000, release


def test_a_different_reaction_shows_on_the_page() -> None:
    data = copy.deepcopy(json.loads(DATA.read_text()))
    data["4.3"]["classes"]["HTTP"]["different"] = 2
    assert "| HTTP |" in bad_bytes_page.page(data)
    assert "2 otherwise, see below" in bad_bytes_page.page(data)
