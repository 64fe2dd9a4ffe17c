"""HashKeys has the order of java.util.HashMap (OpenJDK 17) after puts, computeIfAbsents and removals (tests/data/hash_maps.jsonl.gz).

Keys are integers that fall into few buckets, so that tables grow early, buckets become trees, and trees lose keys and are lists again.
tests/live/judge/KafkaAssignors.java gave the orders, and gives others for other seeds.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from cases import for_each

from groupmock.core.java.hash_maps import (
    INTEGERS,
    STRINGS,
    UUIDS,
    HashKeys,
    changed_order,
    copied_order,
    filled_order,
    room_for,
    string_rank,
    uuid_rank,
)
from groupmock.core.java.tree_bins import TreeBin

DATA: Final = Path(__file__).parents[3] / "data" / "hash_maps.jsonl.gz"
MAPS: Final[list[dict[str, Any]]] = [json.loads(line) for line in gzip.decompress(DATA.read_bytes()).splitlines()]
ALIKE: Final = ["AaAaAaAa", "AaAaAaBB", "AaAaBBAa", "AaAaBBBB", "AaBBAaAa", "AaBBAaBB", "AaBBBBAa", "AaBBBBBB", "BBAaAaAa", "BBAaAaBB"]


def played(capacity: int, keys: str) -> HashKeys[int]:
    """Play the operations on a new map: + for put, ? for computeIfAbsent, - for remove."""
    made = HashKeys(INTEGERS, capacity)
    for each in keys.split():
        {"+": made.put, "?": made.compute, "-": made.remove}[each[0]](int(each[1:]))
    return made


@for_each("one", MAPS, ids=range(len(MAPS)))
def test_a_map_has_javas_order(one: dict[str, Any]) -> None:
    made = played(one["capacity"], one["keys"])
    assert (list(made), len(made)) == (one["order"], len(one["order"]))
    assert all(key in made for key in one["order"])


def test_the_maps_hold_trees_of_every_kind_of_change(monkeypatch: pytest.MonkeyPatch) -> None:
    done: set[str] = set()

    def noted(name: str) -> Callable[..., Any]:
        inner = getattr(TreeBin, name)

        def call(*given: Any) -> Any:
            done.add(name)
            return inner(*given)

        return call

    kinds = ("add", "remove", "too_small", "_swap_with_successor", "_borrow")
    for name in kinds:
        monkeypatch.setattr(TreeBin, name, noted(name))
    for one in MAPS:
        played(one["capacity"], one["keys"])
    assert done == set(kinds)


def test_a_map_doubles_after_a_put_but_before_a_compute() -> None:
    assert list(played(1, "+0 +1 +2")) == [0, 1, 2]
    assert (list(played(2, "?0 ?2")), list(played(2, "+0 +2"))) == ([2, 0], [0, 2])
    assert list(played(2, "?0 ?2 ?2")) == [0, 2]


def test_a_copy_is_made_for_so_many_keys() -> None:
    assert [room_for(size) for size in (0, 3, 12, 13, 48)] == [1, 5, 17, 18, 65]
    assert list(copied_order(INTEGERS, (17, 1, 16, 0))) == [16, 0, 17, 1]
    doubled = ["b", "q", "b"] * 5
    assert list(HashKeys.copied(STRINGS, doubled)) == ["b", "q"]


def test_a_long_bucket_of_a_copy() -> None:
    """Ten keys with one hash code make the table double twice, and only then is it as large as a tree requires."""
    assert list(copied_order(STRINGS, ALIKE)) == ALIKE
    assert list(copied_order(INTEGERS, range(0, 64 * 12, 64))) == [192, 0, 64, 128, 256, 320, 384, 448, 512, 576, 640, 704]


@pytest.mark.parametrize("step", [1, 16, 64, 1024])
def test_orders_told_at_once_are_those_of_a_map_that_lived(step: int) -> None:
    """Keys far apart fall into one bucket, which becomes a tree, so the shortcut for computing the order does not apply."""
    dice, trees = random.Random(step), 0
    for _ in range(60):
        keys = [key * step for key in dice.sample(range(200), dice.randrange(60))]
        at = dice.randint(0, len(keys))
        had, new = keys[:at], keys[at:]
        gone = dice.sample(had, dice.randint(0, len(had)))
        lived = HashKeys(INTEGERS, room_for(len(had)))
        for key in had:
            lived.put(key)
        for key in gone:
            lived.remove(key)
        for key in new:
            lived.put(key)
        assert changed_order(INTEGERS, had, gone, new, room_for(len(had))) == list(lived)
        filled = HashKeys(INTEGERS, 4)
        for key in keys:
            filled.put(key)
        assert filled_order(INTEGERS, keys, 4) == list(filled)
        trees += any(isinstance(bucket, TreeBin) for bucket in filled._buckets.values())
    assert (trees > 0) == (step > 1)


def test_ranks_sort_as_java_compares() -> None:
    assert sorted(["\uffff", "\U0001f600", "a"], key=string_rank) == ["a", "\U0001f600", "\uffff"]
    ids = [bytes([first, *bytes(7), second, *bytes(7)]) for first in (0x80, 0, 0x7F) for second in (0x80, 0)]
    assert sorted(ids, key=uuid_rank) == ids
    assert list(HashKeys.copied(UUIDS, ids)) == list(copied_order(UUIDS, ids))
