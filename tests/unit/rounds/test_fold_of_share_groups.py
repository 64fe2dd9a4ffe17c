"""Answers to heartbeats of share groups say which partitions a member has. A partition moves if one member lost it and another got it."""

from __future__ import annotations

from pathlib import Path

from share_wire import ShareWire, id_of, worked

from groupmock.journal.read import read
from groupmock.rounds import JOINT, Rebalance, Span, ownership_maps, rebalances
from groupmock.rounds.rebalance_model import Holder, Move
from groupmock.rounds.shared_holders import SharedHolders

T0, T1 = ("t", 0), ("t", 1)


def folded(path: Path) -> list[Rebalance]:
    """Return the rebalances after the last row, because answers after the end of one belong to it."""
    return list(rebalances(read(path)[1]))


def moves(found: list[Rebalance]) -> list[list[tuple[int, str, str]]]:
    return [[(each.partition[1], each.before.process, each.after.process) for each in rebalance.moves] for rebalance in found]


def test_moves_of_a_share_group_are_read_from_its_heartbeats(tmp_path: Path) -> None:
    found = folded(worked(tmp_path / "run.jsonl"))
    assert [each.cause for each in found] == [
        "member_joined", "partitions_initialized", "member_joined", "session_expired", "member_left",
    ]  # fmt: skip
    assert moves(found) == [[], [], [(1, "anna", "ben")], [(1, "ben", "anna")], []]
    assert [(each.moved, each.dealt, each.asked_back) for each in found] == [(0, 0, 0), (0, 2, 0), (1, 1, 1), (1, 1, 0), (0, 0, 0)]


def test_a_partition_that_members_share_has_not_moved(tmp_path: Path) -> None:
    world = ShareWire(tmp_path / "run.jsonl")
    for member in ("anna", "ben", "cleo", "dora"):
        world.join(member)
        for each in world.epochs:
            world.beat(each)
    world.rig.close()
    maps = ownership_maps(read(tmp_path / "run.jsonl")[1])["g"]
    last: list[Span] = [maps.spans[T0][-1], maps.spans[T1][-1]]
    assert {(each.state, len(each.processes)) for each in last} == {(JOINT, 2)}
    assert [each.moved for each in maps.rebalances] == [0, 0, 1, 0, 1], "cleo took nothing; of three members one had both, which dora took"


def test_a_partition_moves_once_whichever_half_comes_first() -> None:
    anna, ben, cleo = (Holder(id_of(name), name) for name in ("anna", "ben", "cleo"))
    holders, none = SharedHolders(), frozenset[tuple[str, int]]()
    both = frozenset((T0, T1))
    assert list(holders.changes(1, anna, none, both)) == []
    assert list(holders.changes(2, ben, none, frozenset((T1,)))) == []
    assert list(holders.changes(2, anna, both, frozenset((T0,)))) == [Move(T1, anna, ben)]
    assert list(holders.changes(3, cleo, none, frozenset((T0,)))) == []
    assert list(holders.changes(4, anna, frozenset((T0,)), none)) == [], "what cleo got in an earlier rebalance is no move"
    assert list(holders.changes(4, ben, frozenset((T1,)), both)) == [Move(T0, anna, ben)]
    assert list(holders.changes(5, ben, both, none)) == []
    assert list(holders.changes(6, ben, none, both)) == [], "ben himself had them last"
