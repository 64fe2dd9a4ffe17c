"""A recorded difference covers what it says and nothing beside it."""

from __future__ import annotations

from typing import Any

import pytest

from groupmock_clients.differential.canonical import Difference
from groupmock_clients.differential.recorded import Recorded, known_as
from groupmock_clients.differential.script import Pause, Reconnect, Script, Send, Step

ROW = Recorded("x", "log", ["3.9"], 44, r"responses\[\d+\]\.error_code", "why", versions=[0, 1], real="42")
SEEN: dict[str, Any] = {"step": 1, "path": "responses[3].error_code", "real": 42, "ours": 17, "key": 44, "version": 1}


def test_it_covers_what_it_says() -> None:
    assert ROW.covers("log", "3.9", Difference(**SEEN))


@pytest.mark.parametrize(
    "otherwise",
    [{"path": "responses[3].error_code.more"}, {"path": "a.responses[3].error_code"}, {"real": 421}, {"key": 33}, {"version": 2}],
    ids=str,
)
def test_it_covers_nothing_beside_it(otherwise: dict[str, object]) -> None:
    assert not ROW.covers("log", "3.9", Difference(**{**SEEN, **otherwise}))


@pytest.mark.parametrize(("family", "release"), [("groups", "3.9"), ("log", "4.3")])
def test_it_holds_for_its_family_and_releases(family: str, release: str) -> None:
    assert not ROW.covers(family, release, Difference(**SEEN))


def test_a_difference_is_known_by_its_id_on_its_releases() -> None:
    closed = Difference(4, "status", "closed", "answered", 13, 2)
    one = known_as("groups", "2.8", closed)
    assert one is not None
    assert one.id == "second-answer-to-a-refused-join"
    assert known_as("groups", "4.3", closed) is None


def test_a_broken_connection_is_found_broken_by_the_next_request() -> None:
    closed = Difference(5, "status", "closed", "answered", 8, 7)
    one = known_as("groups", "2.8", closed, before=13)
    assert one is not None
    assert one.id == "second-answer-to-a-refused-join"
    assert known_as("groups", "2.8", closed, before=12) is None
    assert known_as("groups", "2.8", closed) is None


def test_the_request_before_is_that_of_the_same_connection() -> None:
    steps: list[Step] = [
        Send("A", 13, 3),
        Send("B", 11, 1),
        Pause(10),
        Send("A", 8, 7),
        Send("A", 12, 1, connection="A2"),
        Reconnect("A"),
        Send("A", 9, 1),
    ]
    script = Script("groups", 1, "2.8", "plain", steps)
    assert [script.asked_before(index) for index in (-1, *range(len(steps) + 1))] == [None, None, None, None, 13, None, 8, None, None]
