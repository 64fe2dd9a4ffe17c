"""Assignments are sticky and balanced: fewest moves, ties and unequal subscriptions, compared with a brute-force search in small groups."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest
from cases import for_each

from groupmock_clients.cooperative.balance import Partition, even_out, is_balanced, place, subscribers_of

SEED = 11


def held(text: str) -> dict[Partition, str]:
    """Parse `A:0,3 B:1` into the owner of each partition of T."""
    pairs = (word.split(":") for word in text.split())
    return {("T", int(number)): member for member, numbers in pairs for number in numbers.split(",") if number}


def all_of(members: str) -> dict[str, tuple[str, ...]]:
    return {"T": tuple(members)}


@for_each(
    ("before", "loose", "members", "after"),
    [
        ("A:0 B:1 C:2", [3], "ABC", "A:0,3 B:1 C:2"),
        ("A:0,3 B:1 C:2", [], "ABCD", "A:0 B:1 C:2 D:3"),
        ("A:0,1,2,3,4,5", [], "AB", "A:0,1,2 B:3,4,5"),
        ("A:0,1,2 B:3,4", [], "AB", "A:0,1,2 B:3,4"),
        ("A:0,1 B:2,3,4", [], "AB", "A:0,1 B:2,3,4"),
        ("A:0,1,2,3 B:4", [5, 6], "AB", "A:0,1,2,3 B:4,5,6"),
        ("", [0, 1, 2, 3, 4], "AB", "A:0,2,4 B:1,3"),
        ("", [], "AB", ""),
    ],
)
def test_everybody_alike(before: str, loose: list[int], members: str, after: str) -> None:
    free = {("T", number) for number in loose}
    target = even_out(place(held(before), free, all_of(members)), free, all_of(members))
    assert target == held(after)


def test_ties_go_by_the_bytes_of_ids() -> None:
    members = subscribers_of({"b": {"T"}, "B": {"T"}, "é": {"T"}, "z": {"T"}})["T"]
    assert members == ("B", "b", "z", "é")
    assert place({}, [("T", 0)], {"T": members}) == {("T", 0): "B"}


def test_subscriptions_apart() -> None:
    """Only B subscribes to U, so B keeps U and gives T away."""
    subscribers = subscribers_of({"A": {"T"}, "B": {"T", "U"}})
    before = {("U", 0): "B", ("U", 1): "B", ("T", 0): "B", ("T", 1): "B"}
    assert not is_balanced(before, subscribers)
    after = even_out(before, (), subscribers)
    assert after == {("U", 0): "B", ("U", 1): "B", ("T", 0): "A", ("T", 1): "A"}
    assert is_balanced(after, subscribers)


def test_what_few_may_take_is_placed_first() -> None:
    subscribers = subscribers_of({"A": {"T"}, "B": {"T", "U"}})
    assert Counter(place({}, [("T", 0), ("T", 1), ("U", 0), ("U", 1)], subscribers).values()) == {"A": 2, "B": 2}


def fewest_moves(before: dict[Partition, str], loose: list[Partition], members: str) -> int:
    """Find the fewest moves by trying all assignments."""
    parts = [*before, *loose]
    best = len(parts)
    for owners in itertools.product(members, repeat=len(parts)):
        counts = Counter(owners)
        if max(counts.values(), default=0) - min(counts[member] for member in members) <= 1:
            best = min(best, sum(before[part] != owner for part, owner in zip(parts, owners, strict=True) if part in before))
    return best


def test_moves_are_the_fewest_possible() -> None:
    dice = random.Random(SEED)
    for _ in range(150):
        members = "ABCD"[: dice.randint(1, 4)]
        numbers = dice.randint(0, 6)
        owners = {("T", number): dice.choice(members + "-") for number in range(numbers)}
        before = {part: owner for part, owner in owners.items() if owner != "-"}
        loose = [part for part, owner in owners.items() if owner == "-"]
        subscribers = all_of(members)
        after = even_out(place(before, loose, subscribers), loose, subscribers)
        assert is_balanced(after, subscribers), f"seed {SEED}: {before} {loose}"
        assert sum(after[part] != owner for part, owner in before.items()) == fewest_moves(before, loose, members), f"seed {SEED}: {before}"


def test_any_subscriptions_end_balanced() -> None:
    dice = random.Random(SEED)
    for _ in range(300):
        subscriptions = {member: set(dice.sample("TUV", dice.randint(1, 3))) for member in "ABCDE"[: dice.randint(1, 5)]}
        subscribers = subscribers_of(subscriptions)
        parts = [(topic, number) for topic in subscribers for number in range(dice.randint(0, 6))]
        before = {part: dice.choice(subscribers[part[0]]) for part in parts if dice.random() < 0.7}
        loose = [part for part in parts if part not in before]
        after = even_out(place(before, loose, subscribers), loose, subscribers)
        assert after.keys() == set(parts)
        assert is_balanced(after, subscribers), f"seed {SEED}"
        assert all(owner in subscribers[part[0]] for part, owner in after.items())
        assert even_out(after, (), subscribers) == after, "balanced stays as it is"


def test_a_thousand_members_take_no_time_to_speak_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test counts operations: the balancing examines each partition a fixed number of times."""
    members = tuple(sorted(f"m{number:04}" for number in range(1000)))
    looks = 0

    def counting(member: str) -> bytes:
        nonlocal looks
        looks += 1
        return member.encode()

    monkeypatch.setattr("groupmock_clients.cooperative.balance.by_id", counting)
    parts = [("T", number) for number in range(10_000)]
    after = even_out(place({}, parts, {"T": members}), parts, {"T": members})
    assert set(Counter(after.values()).values()) == {10}
    assert looks <= 5 * len(members)
