"""Kafka counts a protocol twice if a member lists it twice, so a protocol can win that not every member supports (P1-b6)."""

from __future__ import annotations

import pytest
from cases import for_each
from core_world import World, subscription

from groupmock.core.effects import Note
from groupmock.core.settings import Quirks
from groupmock.rig import Ask

KAFKA = Quirks(doubled_protocol_hangs=True)
LISTS = {"A": "x", "B": "yyx", "C": "yx", "b": "xyy"}
"""Protocols that each member lists. `y` is counted three times among A, B and C, and A does not list it."""


def joined(world: World, order: str, protocol_type: str = "consumer") -> dict[str, Ask]:
    """Let the members join in that order and wait for the initial rebalance delay."""
    asked = {}
    for who in order:
        protocols = [(name, subscription("t")) for name in LISTS[who]]
        asked[who] = world.enter(protocols=protocols, protocol_type=protocol_type, client=who)[1]
    world.sleep(6_000)
    for group in world.groups():
        group.invariants()
    return asked


def outcome(asked: dict[str, Ask]) -> list[str | None]:
    return [None if ask.parked else ask.answer.protocol_name for ask in asked.values()]


@for_each("order", ["ABC", "BCA", "CAB"])
def test_a_phase_whose_winner_somebody_does_not_list_fails_as_on_kafka(order: str) -> None:
    # In this case Kafka 4.3.0, 3.9.1 and 2.8.2 stay in PreparingRebalance and answer nobody.
    world = World.make(quirks=KAFKA)
    assert outcome(joined(world, order)) == [None, None, None]
    assert world.group().state == "PreparingRebalance"


@for_each("order", ["bAC", "AB", "Ab"])
def test_a_doubled_name_that_loses_the_vote_does_no_harm(order: str) -> None:
    # In this case Kafka 4.3.0, 3.9.1 and 2.8.2 choose the protocol x.
    world = World.make(quirks=KAFKA)
    assert set(outcome(joined(world, order))) == {"x"}
    assert world.group().state == "CompletingRebalance"


def test_a_phase_in_which_a_member_lists_no_candidate_fails() -> None:
    # One of two members lists x once and y twice, so a candidate exists although A votes for none.
    world = World.make(quirks=KAFKA)
    world.enter(protocols=[("x", subscription("t"))])
    member, _ = world.enter(protocols=[(name, subscription("t")) for name in LISTS["B"]])
    world.join(member, protocols=[("y", subscription("t")), ("y", subscription("t"))])
    world.sleep(6_000)
    world.group().invariants()
    assert (world.group().state, "join_phase_failed" in [note.what for note in world.rig.of(Note)]) == ("PreparingRebalance", True)


@pytest.mark.parametrize("protocol_type", ["consumer", "connect"])
def test_in_groupmocks_own_profile_a_doubled_name_counts_once(protocol_type: str) -> None:
    world = World.make()
    assert set(outcome(joined(world, "ABC", protocol_type))) == {"x"}
