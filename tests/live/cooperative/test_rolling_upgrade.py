"""A rolling restart changes the assignor, with two protocol names for kafka-python and one for aiokafka. No partition has two owners or
none."""

from __future__ import annotations

from typing import Any

import pytest
from stock_members import heard as heard_by
from stock_members import pairs
from waiting import until

ALL = frozenset(("T", number) for number in range(4))


@pytest.mark.parametrize("design", [1, 2, 3])
def test_two_rolling_bounces_lead_from_range_to_ours(design: int, house: Any) -> None:
    settings = {"design": design, "delay_ms": 300, "max_moves": 4, "move_interval_ms": 100}
    steps: list[tuple[str, dict[str, Any] | None, bool, str]] = [
        ("A", settings, True, "range"),
        ("B", settings, True, f"coop-d{design}"),
        ("A", settings, False, f"coop-d{design}"),
        ("B", settings, False, f"coop-d{design}"),
    ]
    members = {name: house.stock("kafka-python", name, None) for name in "AB"}

    def settled(protocol: str) -> None:
        def done() -> bool:
            for member in members.values():
                member.check()
            if "g" not in house.broker.groups or any(pairs(each.consumer.assignment()) != heard_by(each) for each in members.values()):
                return False
            held = [pairs(member.consumer.assignment()) for member in members.values()]
            view = house.broker.groups["g"]
            return (
                (view.state, view.protocol_name) == ("Stable", protocol)
                and [len(each) for each in held] == [2, 2]
                and held[0] | held[1] == ALL
            )

        until(f"balance under {protocol}", done, lambda: house.broker.story("g"))

    settled("range")
    for name, wish, also_range, protocol in steps:
        house.gone(members.pop(name))
        members[name] = house.stock("kafka-python", name, wish, also_range=also_range)
        settled(protocol)
    told = {name: len(member.told) for name, member in members.items()}
    c = house.stock("kafka-python", "C", settings)
    until("the third member's share", lambda: len(c.owned()) == 1 and c.owned() == heard_by(c), lambda: house.broker.story("g"))
    heard = [what for name, member in members.items() for what in member.told[told[name] :]]
    assert heard == [("revoked", c.owned())], "incremental now: one member hears of the one partition that goes"


def test_a_member_that_knows_only_range_is_refused_by_a_group_that_knows_only_ours(house: Any) -> None:
    a = house.stock("kafka-python", "A", {"design": 1})
    until("the first member", lambda: a.owned() == ALL, lambda: house.broker.story("g"))
    b = house.stock("kafka-python", "B", None)
    until("a refusal", lambda: b.failure is not None, lambda: house.broker.story("g"))
    assert "InconsistentGroupProtocol" in repr(b.failure)
    assert a.owned() == ALL


@pytest.mark.parametrize("design", [1, 2, 3])
def test_aiokafka_changes_over_under_the_name_of_range(design: int, house: Any) -> None:
    """Each of the members restarts once. An eager member makes the group eager, and without it the group is cooperative again."""
    settings = {"design": design, "delay_ms": 300, "max_moves": 4, "move_interval_ms": 100}
    members = {name: house.stock("aiokafka", name, None) for name in "AB"}

    def settled() -> None:
        share = sorted(4 // len(members) + (place < 4 % len(members)) for place in range(len(members)))

        def done() -> bool:
            for member in members.values():
                member.check()
            held = [pairs(member.consumer.assignment()) for member in members.values()]
            if "g" not in house.broker.groups or sorted(map(len, held)) != share or frozenset().union(*held) != ALL:
                return False
            if any(pairs(member.consumer.assignment()) != heard_by(member) for member in members.values()):
                return False
            view = house.broker.groups["g"]
            return (view.state, view.protocol_name, len(view.members)) == ("Stable", "range", len(members))

        until("balance", done, lambda: house.broker.story("g"))

    def modes() -> set[bool]:
        return {member.assignor.cooperative for member in members.values() if hasattr(member.assignor, "cooperative")}

    settled()
    for name, mode in (("A", {False}), ("B", {True})):
        house.gone(members.pop(name))
        members[name] = house.stock("aiokafka", name, settings, dual=True)
        settled()
        assert modes() == mode, f"after {name}"
    told = {name: len(member.told) for name, member in members.items()}
    members["C"] = house.stock("aiokafka", "C", settings, dual=True)
    settled()
    heard = [what for name in "AB" for what in members[name].told[told[name] :]]
    assert heard == [("revoked", members["C"].owned())], "one member hears of the one partition that goes"

    members["D"] = house.stock("aiokafka", "D", None)  # The member D uses an eager assignor, unlike the others.
    settled()
    assert modes() == {False}
    before = {name: members[name].owned() for name in "ABC"}
    told = {name: len(members[name].told) for name in "ABC"}
    house.gone(members.pop("D"))
    settled()
    until("cooperation", lambda: modes() == {True}, lambda: house.broker.story("g"))
    for name, had in before.items():
        assert members[name].told[told[name]] == ("revoked", had), "as an eager member it gave everything up first"
