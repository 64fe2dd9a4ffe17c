"""A rebalance may take longer than a poll: a joining member still processes the answers that arrive after its poll."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from coop_house import EVERY
from stock_members import heard
from waiting import until

NEW = {"SyncGroup": frozenset(("T", number) for number in range(4, 8)), "JoinGroup": frozenset(("U", number) for number in range(4))}


def a_leader_whose_topic_grows(library: str, house: Any) -> Any:
    member = house.stock(library, "A", {"design": 2}, poll_ms=100, metadata_max_age_ms=300)
    until("four partitions", lambda: len(heard(member)) == 4, lambda: house.broker.story("g"))
    return member, lambda: house.broker.grow_topic("T", 8)


def a_follower_that_reads_more(library: str, house: Any) -> Any:
    house.broker.create_topic("U", 4)
    leader = house.stock(library, "L", {"design": 2})
    until("a leader", lambda: leader.owned(), lambda: house.broker.story("g"))
    member = house.stock(library, "A", {"design": 2}, poll_ms=100)
    until("two partitions", lambda: len(heard(member)) == 2, lambda: house.broker.story("g"))
    return member, lambda: member.call(lambda consumer: consumer.subscribe(["T", "U"]))


@pytest.mark.parametrize(("who", "api"), [(a_leader_whose_topic_grows, "SyncGroup"), (a_follower_that_reads_more, "JoinGroup")])
@pytest.mark.parametrize("library", EVERY)
def test_an_assignment_that_comes_after_the_poll_is_taken(library: str, who: Callable[[str, Any], Any], api: str, house: Any) -> None:
    """kafka-python 3.0.12 itself would never use the assignment, stop sending heartbeats, and continue to read its old partitions."""
    member, change = who(library, house)
    with house.broker.fault({"api": api, "client_id": "A"}, "hold", stage="reply") as held:
        change()
        held.wait(timeout=20)
        for _ in range(2):
            # Every poll of the member must have returned once, because a call on the member's thread returns only after its current poll.
            member.call(lambda consumer: None)
        held.release()
    until("what is new", lambda: NEW[api] <= member.owned(), lambda: (member.told, house.broker.story("g")))
    with house.broker.fault({"api": "Heartbeat", "client_id": "A"}, {"kind": "delay", "seconds": 0.01}) as heartbeat:
        heartbeat.wait(timeout=20)
