"""A member whose third SyncGroup is applied but never answered does not block a Design II group."""

from __future__ import annotations

from typing import Any

import pytest
from coop_house import LIBRARIES
from stock_members import Partition
from waiting import until

ALL = frozenset(("T", number) for number in range(4))
RECORDS = 20
DESIGN_II = {"design": 2, "delay_ms": 500}
SHORT = {"session_timeout_ms": 6_000, "request_timeout_ms": 7_000}
"""Session and request timeout in ms, short so that a client without answers gives up soon. kafka-python demands a request timeout above
the session's."""


def fill(house: Any) -> None:
    for number in range(4):
        for _ in range(RECORDS):
            house.broker.produce("T", b"x", partition=number)


def settled(house: Any, *members: Any) -> None:
    """Wait until every partition is owned once, every member owns one, and no poll loop has failed."""

    def done() -> bool:
        for member in members:
            member.check()
        held = [member.owned() for member in members]
        return sorted(part for each in held for part in each) == sorted(ALL) and all(held)

    until("every partition held once", done, lambda: ([sorted(each.owned()) for each in members], house.broker.story("g")))


def delivered(house: Any, *members: Any, each: int) -> None:
    wanted: set[tuple[Partition, int]] = {(part, offset) for part in ALL for offset in range(each)}
    until(
        f"{len(wanted)} records",
        lambda: wanted <= {record for member in members for record in member.delivered},
        lambda: ([len(member.delivered) for member in members], house.broker.story("g")),
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_nothing_is_lost_and_the_group_settles_when_a_sync_answer_is_lost(library: str, house: Any) -> None:
    fill(house)
    with house.broker.fault({"api": "SyncGroup", "client_id": "B", "nth": 3}, "drop") as lost:
        a = house.stock(library, "A", DESIGN_II, commit_revoked=True, **SHORT)
        b = house.stock(library, "B", DESIGN_II, commit_revoked=True, **SHORT)
        settled(house, a, b)
        c = house.stock(library, "C", DESIGN_II, commit_revoked=True, **SHORT)
        lost.wait(timeout=30)
        fill(house)
        settled(house, a, b, c)
        delivered(house, a, b, c, each=2 * RECORDS)
        house.broker.wait_for("g", state="Stable", members=3)
        assert lost.fired == 1
