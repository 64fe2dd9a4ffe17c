"""After many answers the driver gives memory back."""

from __future__ import annotations

import sys
from typing import Any, cast

import pytest

from groupmock.net import trim
from groupmock.net.call import Tickets
from groupmock.net.trim import SELDOM_NS, give_back


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the arguments of the calls of malloc_trim."""
    made: list[int] = []
    monkeypatch.setattr(trim, "_release", made.append)
    monkeypatch.setattr(trim, "_last", [])
    return made


def test_the_tickets_of_many_requests_leave_no_room_behind(calls: list[int]) -> None:
    tickets = Tickets()
    tickets.update({number: cast(Any, None) for number in range(10_000)})
    while tickets:
        tickets.popitem()
    before = sys.getsizeof(tickets)
    tickets.tidy()
    assert (sys.getsizeof(tickets) < before / 100, calls) == (True, [0])


def test_memory_is_given_back_once_in_a_while(calls: list[int]) -> None:
    assert [give_back(now) for now in (5, 6, 5 + SELDOM_NS, 6 + SELDOM_NS)] == [True, False, True, False]
    assert calls == [0, 0]


def test_a_library_without_the_function_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trim, "_release", None)
    assert not give_back(0)
