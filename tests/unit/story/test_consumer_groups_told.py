"""Stories of consumer groups (KIP-848) tell subscriptions, closed connections, and the members that a reconciling group waits for."""

from __future__ import annotations

from pathlib import Path

from consumer_wire import ConsumerWire

from groupmock.rig.kept_rows import KeptRows
from groupmock.story.telling import tell


class Group(ConsumerWire):
    def __init__(self, folder: Path) -> None:
        self.kept = KeptRows(heartbeats=True)
        super().__init__(folder / "run.jsonl", [self.kept])

    def story(self) -> list[str]:
        return [line.strip().partition("  ")[2] for line in list(tell(self.kept.rows, now=self.rig.clock.now()))[2:]]


def test_subscriptions_of_members_are_told_when_they_join_and_when_they_change(tmp_path: Path) -> None:
    group = Group(tmp_path)
    group.join("A")
    group.beat("A")
    group.beat("A", subscribed_topic_names=[], subscribed_topic_regex="t.*")
    told = group.story()
    assert told[0] == "A# joins, subscribes to t"
    assert [line for line in told if "before" in line] == ["A# subscribes to topics that match t.*, before: t"]


def test_a_connection_that_ends_is_told(tmp_path: Path) -> None:
    group = Group(tmp_path)
    group.join("A")
    group.wires["A"].hang_up()
    assert group.story()[-1].startswith("A#'s connection ends (by the client) and it has not left: the group keeps its partitions until")


def test_an_old_connection_that_ends_behind_a_new_one_is_not_told(tmp_path: Path) -> None:
    group = Group(tmp_path)
    group.join("A")
    old = group.wires.pop("A")
    group.beat("A")
    old.hang_up()
    assert not [line for line in group.story() if "connection ends" in line]


def test_a_group_that_reconciles_awaits_what_a_member_has_to_give_up(tmp_path: Path) -> None:
    group = Group(tmp_path)
    group.join("A")
    group.join("B")
    group.rig.sleep(1000)
    group.beat("A", owned=[0, 1, 2, 3])
    group.rig.sleep(2000)
    awaited = group.story()[-1].partition("; awaited: ")[2]
    assert awaited == "A# to give up t/2-3 (it was told at 1.000; its rebalance timeout of 60000 ms is over in 58.000 s)"
