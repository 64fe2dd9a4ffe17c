"""The story of a group says the likely cause of trouble if the rows show its whole pattern, and nothing otherwise."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from consumer_wire import ConsumerWire
from healthy_runs import healthy_rows
from kitchen_of_two import Kitchen

from groupmock.rig.kept_rows import KeptRows
from groupmock.story.causes import LIKELY
from groupmock.story.telling import obstacles, tell
from tools.mistakes.scripts import MISTAKES, failed_text
from tools.mistakes.stage import LATEST, Consumer, Stage

LONGEST = 160
TOLD = {
    "commit-after-revoke": "anna#017f committed orders/1 = 18 at 6.000 with generation 1, but orders/1 was ben#b604's then",
    "no-commit": "nobody commits: anna#017f was sent records of orders/0-3 at 3.000, and anna#b604 began at the same offsets at 12.000",
    "poll-too-slow": "anna#017f polled too slowly: it left at 8.000 (consumer poll timeout has expired.); its OffsetCommit at 9.000",
    "two-services-one-group": "two services share this group.id: shipping#b604 subscribes to orders, billing#38f1 (since 3.000) to bills",
    "assignor-mix": "new (no member) could not join at 3.000 (it offers cooperative-sticky; all others have range)",
    "unknown-topic": "anna#017f subscribes to topic order, which does not exist (Metadata at 0.000): did you mean orders?",
    "reset-to-latest": "anna#017f began at the end of orders/0-3 at 3.000 and skipped up to 12 records",
    "static-id-twice": "pod-1 and pod-2 both use group.instance.id kitchen-0: pod-2 took its place at 4.000",
    "commits-in-the-wrong-order": "anna#017f committed orders/1 = 6 at 3.200 after 9 at 3.100",
    "close-without-leave": "ben#b604's connection ended at 3.000 without LeaveGroup: nobody reads orders/1,3 until its session (45000 ms)",
}
"""Maps each mistake of docs/how-to/read-the-story.md to the beginning of the line about its cause."""


def causes(stage: Stage) -> list[str]:
    """Return the likely causes in the story of a stage, without the word that begins each line."""
    return [line.strip().removeprefix(LIKELY) for line in stage.story() if line.strip().startswith(LIKELY)]


def started(stage: Stage, *consumers: Consumer) -> None:
    """Let consumers join together, find their offsets and read."""
    stage.together(*consumers)
    for consumer in consumers:
        consumer.start()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_documented_mistake_has_its_likely_cause_and_no_other(mistake: str) -> None:
    lines = [line.strip() for line in failed_text(mistake) if line.strip().startswith(LIKELY)]
    assert len(lines) == 1
    assert lines[0].startswith(f"{LIKELY}{TOLD[mistake]}")
    assert len(lines[0]) <= LONGEST


@pytest.mark.parametrize("seed", range(42))
def test_no_cause_is_told_of_a_healthy_run(seed: int) -> None:
    assert [line for line in tell(healthy_rows(seed)) if LIKELY in line] == []


# -- commits


def test_work_that_was_not_committed_is_told_when_its_partition_is_handed_over() -> None:
    stage = Stage({"orders": 4})
    stage.produce("orders", 1, 5)
    anna, ben = stage.consumer("anna"), stage.consumer("ben")
    started(stage, anna)
    anna.commit({("orders", 0): 0, ("orders", 1): 2})
    anna.read({("orders", 1): 5})
    ben.join()
    anna.beat()
    stage.together(anna, waiting=[ben])
    ben.start()
    told = "orders/1 went to ben#b604 at 6.000 while anna#017f worked on offset 2 to 4, not committed: ben#b604 read from 2 again"
    assert causes(stage) == [told]


def test_records_that_were_only_fetched_and_not_taken_are_no_work_that_is_handed_over() -> None:
    stage = Stage({"orders": 4})
    stage.produce("orders", 1, 5)
    anna, ben = stage.consumer("anna"), stage.consumer("ben")
    started(stage, anna)
    anna.commit({("orders", 1): 0})
    ben.join()
    anna.beat()
    stage.together(anna, waiting=[ben])
    ben.start()
    assert causes(stage) == []


def test_a_member_that_commits_a_lower_offset_after_seek_means_it() -> None:
    stage = Stage({"orders": 1})
    stage.produce("orders", 0, 9)
    anna = stage.consumer("anna")
    started(stage, anna)
    anna.commit({("orders", 0): 9})
    stage.sleep(100)
    anna.read({("orders", 0): 9})
    anna.read({("orders", 0): 3})
    anna.commit({("orders", 0): 3})
    stage.sleep(100)
    assert causes(stage) == []


def test_a_lower_offset_that_a_later_commit_repairs_is_no_cause() -> None:
    stage = Stage({"orders": 1})
    stage.produce("orders", 0, 9)
    anna = stage.consumer("anna")
    started(stage, anna)
    for offset in (9, 6, 9):
        anna.commit({("orders", 0): offset})
        stage.sleep(100)
    assert causes(stage) == []


def test_a_refused_commit_that_is_repeated_is_no_cause() -> None:
    stage = Stage({"orders": 1})
    anna = stage.consumer("anna")
    started(stage, anna)
    for generation in (0, None):
        anna.commit({("orders", 0): 0}, generation)
        stage.sleep(100)
    assert causes(stage) == []


def test_a_commit_that_a_fault_rule_refuses_is_no_cause() -> None:
    stage = Stage({"orders": 1})
    rule = {"name": "r", "when": {"api": "OffsetCommit"}, "do": {"kind": "error", "code": "ILLEGAL_GENERATION"}}
    stage.rig.command("add_faults", rules=[rule], origin="test")
    anna = stage.consumer("anna")
    started(stage, anna)
    anna.commit({("orders", 0): 0})
    stage.sleep(100)
    assert causes(stage) == []


@pytest.mark.parametrize("leaves", [True, False])
def test_a_reader_that_never_commits_is_told_when_it_leaves_or_reads_for_long(leaves: bool) -> None:
    stage = Stage({"orders": 1})
    stage.produce("orders", 0, 9)
    anna = stage.consumer("anna")
    started(stage, anna)
    stage.sleep(5000)
    assert causes(stage) == []
    if leaves:
        anna.leave()
        anna.hang_up()
    else:
        stage.sleep(5000)
    end = " and left at 8.000" if leaves else ", and none has been committed"
    assert causes(stage) == [f"nobody commits: anna#017f was sent records of orders/0 at 3.000{end}"]


# -- members


def test_a_member_that_leaves_and_joins_again_by_the_same_connection_polled_too_slowly() -> None:
    stage = Stage({"orders": 1})
    anna = stage.consumer("anna")
    started(stage, anna)
    anna.leave()
    stage.sleep(2000)
    anna.member_id = ""
    stage.together(anna)
    kept = "anna#017f polled too slowly (max.poll.interval.ms): it left at 3.000, kept its connection"
    assert causes(stage) == [f"{kept} and joined again at 5.000 as anna#b604"]


def test_a_member_that_does_not_join_again_while_its_connection_is_open_polled_too_slowly() -> None:
    stage = Stage({"orders": 2})
    anna, ben = stage.consumer("anna", rebalance_ms=4000), stage.consumer("ben", rebalance_ms=4000)
    started(stage, anna)
    ben.join()
    for _ in range(5):
        anna.beat()
        stage.sleep(1000)
    late = "it did not join again in time, and the rebalance went on without it at 7.000"
    assert causes(stage) == [f"anna#017f polled too slowly (max.poll.interval.ms): {late}"]


def test_a_member_whose_session_expires_while_its_connection_is_open_was_blocked() -> None:
    stage = Stage({"orders": 2})
    anna = stage.consumer("anna", session_ms=6000)
    started(stage, anna)
    stage.sleep(8000)
    silent = "anna#017f sent no heartbeat and its session (6000 ms) expired at 9.000, but its connection was open"
    assert causes(stage) == [f"{silent}: a call blocked its thread or event loop"]


def test_a_session_that_the_test_lets_expire_is_no_cause() -> None:
    stage = Stage({"orders": 2})
    anna = stage.consumer("anna")
    started(stage, anna)
    stage.rig.command("expire_member", group="kitchen", member="anna")
    stage.sleep(8000)
    assert causes(stage) == []


def test_a_connection_that_ended_long_ago_says_until_when_nobody_read() -> None:
    stage = Stage({"orders": 4})
    anna, ben = stage.consumer("anna"), stage.consumer("ben", session_ms=6000)
    started(stage, anna, ben)
    ben.beat()
    ben.hang_up()
    for _ in range(7):
        stage.sleep(1000)
        anna.beat()
    told = "ben#b604's connection ended at 3.000 without LeaveGroup: nobody read orders/1,3 until its session (6000 ms) expired at 9.000"
    assert causes(stage) == [told]


def test_a_client_that_hung_up_just_now_may_come_back() -> None:
    stage = Stage({"orders": 4})
    anna, ben = stage.consumer("anna"), stage.consumer("ben")
    started(stage, anna, ben)
    ben.hang_up()
    stage.sleep(900)
    assert causes(stage) == []


def test_a_static_member_that_comes_back_is_no_second_process() -> None:
    stage = Stage({"orders": 4})
    one, again = stage.consumer("pod", instance_id="kitchen-0"), stage.consumer("pod", instance_id="kitchen-0")
    started(stage, one)
    one.hang_up()
    stage.sleep(500)
    started(stage, again)
    assert causes(stage) == []


def test_a_static_id_of_a_consumer_group_that_is_in_use_is_told(tmp_path: Path) -> None:
    kept = KeptRows(heartbeats=True)
    group = ConsumerWire(tmp_path / "run.jsonl", [kept])
    for member in ("A", "B"):
        group.join(member, instance_id="kitchen-0")
    told = [line.strip() for line in tell(kept.rows) if LIKELY in line]
    assert len(told) == 1
    assert "ConsumerGroupHeartbeat was refused at 0.000 (UNRELEASED_INSTANCE_ID)" in told[0]


def test_causes_are_told_after_the_test_has_closed_its_clients() -> None:
    stage = Stage({"orders": 2, "bills": 2})
    shipping, billing = stage.consumer("shipping"), stage.consumer("billing", topics=["bills"])
    started(stage, shipping, billing)
    for consumer in (shipping, billing):
        consumer.leave()
        consumer.hang_up()
    stage.sleep(5000)
    assert [line.partition(":")[0] for line in causes(stage)] == ["two services share this group.id"]


# -- reading


def test_a_reader_that_waits_behind_an_open_transaction_is_told_while_it_is_open() -> None:
    kitchen = Kitchen()
    kitchen.begin()
    kitchen.fetch(0, isolation_level=1)
    assert causes(kitchen) == []
    kitchen.sleep(1000)
    waits = "anna#017f (read_committed) waits at orders/0 = 0 since 6.000 behind an open transaction: till (Ongoing since 6.000)"
    assert causes(kitchen) == [waits]
    assert f"{LIKELY}{waits}" in obstacles(kitchen.ring.rows, "kitchen", now=kitchen.rig.clock.now(), sessions={}, dropped=0)
    kitchen.end()
    assert causes(kitchen) == []


def test_a_partition_that_is_never_fetched_beside_others_is_told() -> None:
    stage = Stage({"orders": 4})
    anna = stage.consumer("anna")
    stage.together(anna)
    at = {("orders", number): 0 for number in range(3)}
    anna.committed()
    for _ in range(3):
        anna.read(at)
        stage.sleep(1000)
    unread = "anna#017f has orders/3 since 3.000 and has never fetched it, but 3 times other partitions"
    assert causes(stage) == [f"{unread}: paused, no start offset, or no way to its leader"]


def test_partitions_whose_first_offset_was_refused_are_told_as_never_fetched() -> None:
    stage = Stage({"orders": 4})
    rule = {"name": "r", "when": {"api": "OffsetFetch"}, "do": {"kind": "error", "code": "NOT_COORDINATOR"}}
    stage.rig.command("add_faults", rules=[rule], origin="test")
    anna = stage.consumer("anna")
    stage.together(anna)
    anna.committed()
    stage.sleep(3000)
    unread = "anna#017f has orders/0-3 since 3.000 and has never fetched it: its OffsetFetch was refused at 3.000 (NOT_COORDINATOR)"
    assert causes(stage) == [f"{unread}, so it knows no offset to begin at"]


def test_the_rows_from_the_middle_of_a_run_do_not_show_that_nobody_commits() -> None:
    stage = Stage({"orders": 1})
    stage.produce("orders", 0, 9)
    anna = stage.consumer("anna")
    started(stage, anna)
    anna.leave()
    anna.hang_up()
    assert [line for line in tell(stage.ring.rows, dropped=1, now=9 * 10**9) if re.search("Likely: nobody commits", line)] == []


def test_latest_in_an_empty_log_skips_nothing() -> None:
    stage = Stage({"orders": 1})
    anna = stage.consumer("anna")
    stage.together(anna)
    anna.start(LATEST)
    assert causes(stage) == []
