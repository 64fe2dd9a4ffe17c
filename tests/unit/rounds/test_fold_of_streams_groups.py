"""Answers to heartbeats of streams groups say which tasks a member has. Active tasks are what members own."""

from __future__ import annotations

from pathlib import Path

from streams_wire import id_of, worked

from groupmock.journal.read import read
from groupmock.rounds import Listeners, Partitions, Rebalances, ownership_maps, rebalances
from groupmock.rounds.owners import PALE, UNOWNED
from groupmock.rounds.tasks import place_name
from groupmock_codec.units import NS_PER_S


def test_rebalances_of_a_streams_group_count_active_tasks(tmp_path: Path) -> None:
    found = list(rebalances(read(worked(tmp_path / "run.jsonl"))[1]))
    assert [(each.cause, each.ended_in, each.first_join) for each in found] == [
        ("member_joined", "Stable", True), ("member_joined", "Stable", False), ("member_joined", "Stable", False),
        ("session_expired", "Stable", False), ("member_left", "Stable", False), ("member_left", "Empty", False),
    ]  # fmt: skip
    moves = [
        [(place_name(*move.partition), move.before.process, move.after.process, move.stood_by) for move in each.moves] for each in found
    ]
    assert moves == [
        [], [("0_1", "anna", "ben", False), ("1_1", "anna", "ben", False)],
        [("1_1", "ben", "cleo", False)], [("0_1", "ben", "cleo", False)],
        [("0_0", "anna", "cleo", False), ("1_0", "anna", "cleo", True)], [],
    ]  # fmt: skip


def test_topics_that_are_missing_keep_the_first_rebalance_under_way(tmp_path: Path) -> None:
    first = next(rebalances(read(worked(tmp_path / "run.jsonl"))[1]))
    assert [(each.state, each.spent // NS_PER_S) for each in first.phases] == [("NotReady", 1), ("NotReady", 1)]
    assert (first.began, first.ended, first.dealt) == (0, 2 * NS_PER_S, 0)


def test_tasks_of_a_crashed_member_have_no_owner_until_its_session_ends(tmp_path: Path) -> None:
    found = ownership_maps(read(worked(tmp_path / "run.jsonl"))[1])["app"]
    spans = [(each.state, each.processes, each.since // NS_PER_S) for each in found.spans["task 0", 1]]
    assert spans == [
        ("owned", ("anna",), 2), (UNOWNED, (), 5), ("owned", ("ben",), 6),
        (PALE, ("ben",), 14), ("owned", ("cleo",), 33), (UNOWNED, (), 42),
    ]  # fmt: skip
    assert found.lasted(PALE, begin=0) == 19 * NS_PER_S


def test_standby_tasks_are_followed_beside_active_ones(tmp_path: Path) -> None:
    changes: list[tuple[int, str, list[str]]] = []

    def stands(member: str, _: Partitions, after: Partitions, at: int) -> None:
        changes.append((at // NS_PER_S, member, [place_name(*each) for each in sorted(after)]))

    fold = Rebalances(watched=lambda _: Listeners(stands=stands))
    for row in read(worked(tmp_path / "run.jsonl"))[1]:
        fold.feed(row)
    anna, ben, cleo = map(id_of, ("anna", "ben", "cleo"))
    assert changes == [
        (4, ben, ["1_0"]), (5, anna, ["1_1"]), (8, cleo, ["1_0"]), (9, anna, []), (9, ben, ["1_1"]), (33, ben, []), (33, anna, ["1_1"]),
        (40, anna, []), (40, cleo, []),
    ]  # fmt: skip
    standbys = fold.groups["app"].standbys
    assert standbys is not None
    assert standbys.of == {}
