"""The story of a group uses the right rows, and neither its memory nor its output grows without bound."""

from __future__ import annotations

import gzip
import json
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kitchen_of_two import TwoMembers

from groupmock.journal.read import JournalReader
from groupmock.journal.rows import ErrorAt, MemberRow, MovedRow, NoteRow, ReplyRow, RequestRow, Row
from groupmock.story import teller
from groupmock.story.teller import NotTold
from groupmock.story.telling import tell
from tools.mistakes.scripts import MISTAKES, failed_text
from tools.mistakes.stage import Stage

JOURNALS = Path(__file__).parents[2] / "data" / "journals"
LONG_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")


def story(stage: Stage, **how: Any) -> list[str]:
    """Return the story without its times."""
    return [re.sub(r"^ +[0-9.]+  ", "", line) for line in tell(stage.ring.rows, **how)]


def test_a_generation_says_who_keeps_gets_and_loses_what() -> None:
    told = story(TwoMembers())
    assert told[0] == "kitchen: Stable, generation 2, range, 2 members (anna#017f leads), nothing committed"
    assert "ben#b604 joins, subscribes to orders -> rebalance" in told
    assert "anna#017f hears of it by Heartbeat" in told
    assert told[-1].endswith("anna#017f leads; anna#017f keeps orders/0,2, loses orders/1,3; ben#b604 gets orders/1,3 (new)")


def test_a_member_too_many_is_told_why_it_gets_nothing() -> None:
    stage = Stage({"orders": 1})
    stage.together(stage.consumer("anna"), stage.consumer("ben"))
    assert story(stage)[-1].endswith("ben#b604 gets nothing (2 members for 1 partition)")


def test_a_commit_that_is_refused_says_so_and_what_was_wrong() -> None:
    stage = TwoMembers()
    stage.anna.commit({("orders", 2): 17}, generation=1)
    stage.sleep(0)
    assert story(stage)[-1] == "anna#017f's commit of orders/2 = 17 REFUSED: ILLEGAL_GENERATION (it says generation 1, it is 2)"


def test_an_expiry_that_was_ordered_is_told_from_one_that_came_of_itself() -> None:
    stage = TwoMembers()
    stage.rig.command("expire_member", group="kitchen", member=stage.ben.member_id)
    ordered = story(stage)
    assert "ordered by the test: expire_member member=ben#b604" in ordered
    assert "ben#b604 is gone: its session expired, ordered by expire_member -> rebalance" in ordered
    stage = TwoMembers()
    for _ in range(5):
        stage.sleep(10_000)
        stage.anna.beat()
    assert "ben#b604 is gone: its session expired, nothing was heard of it for 45000 ms -> rebalance" in story(stage)


def test_what_a_client_reads_that_replaced_a_static_member_is_told() -> None:
    stage = Stage({"orders": 1})
    old, new = (stage.consumer(name, instance_id="desk-1") for name in ("old", "new"))
    stage.together(old)
    old.start()
    new.join()
    stage.sleep(0)
    new.sync()
    new.start()
    begins = [line for line in story(stage) if "begins to read" in line]
    assert len(begins) == 2 and begins[0].split()[0] != begins[1].split()[0]


def test_a_fault_rule_that_strikes_is_named_with_what_it_did() -> None:
    stage = TwoMembers()
    rule = {"name": "lost", "when": {"api": "Heartbeat"}, "do": {"kind": "error", "code": 25}}
    stage.rig.command("add_faults", rules=[rule], origin="the test")
    stage.anna.beat()
    told = story(stage)
    assert any(line.startswith("fault rule lost strikes anna#017f's Heartbeat: error") for line in told), told
    assert any("Heartbeat REFUSED: UNKNOWN_MEMBER_ID" in line for line in told)


def test_a_fault_rule_that_strikes_an_answer_says_whose() -> None:
    """The story names the member whose heartbeat answer was changed by a fault rule, although the rows contain no request of a heartbeat
    that changes nothing."""
    stage = TwoMembers()
    rule = {"name": "late", "when": {"api": "Heartbeat"}, "stage": "reply", "do": {"kind": "delay", "seconds": 1}, "times": 1}
    stage.rig.command("add_faults", rules=[rule], origin="the test")
    with pytest.raises(AssertionError, match="not answered"):
        stage.anna.beat()
    assert story(stage)[-1] == "fault rule late strikes anna#017f's answer: delay seconds=1"


def test_commits_that_repeat_are_one_line_and_heartbeats_none() -> None:
    stage = TwoMembers()
    for offset in range(1, 301):
        stage.anna.commit({("orders", 0): offset, ("orders", 2): 2 * offset})
        stage.sleep(100)
        stage.anna.beat()
        stage.ben.beat()
    told = story(stage)
    assert told[-1] == "anna#017f: 300 commits until 35.900, the last orders/0 = 300, orders/2 = 600"
    assert len(told) < 12


def test_a_commit_of_another_members_partition_and_one_that_goes_back_are_told() -> None:
    stage = TwoMembers()
    for offset in (9, 6):
        stage.ben.commit({("orders", 1): offset})
        stage.sleep(0)
    stage.anna.commit({("orders", 3): 5})
    stage.sleep(0)
    told = story(stage)
    assert told[-2:] == [
        "ben#b604 commits orders/1 = 6: BACK from 9",
        "anna#017f commits orders/3 = 5, NOT ITS OWN: generation 2 gave it to ben#b604",
    ]


def test_lag_is_told_where_the_server_says_it() -> None:
    stage = TwoMembers()
    stage.produce("orders", 0, 5)
    stage.anna.commit({("orders", 0): 2})
    stage.sleep(0)
    assert "lag" not in story(stage)[0]
    assert next(stage.story()).endswith(", lag 3")


@pytest.mark.parametrize("name", MISTAKES)
def test_no_story_needs_a_long_member_id(name: str) -> None:
    assert not LONG_ID.search("\n".join(failed_text(name)))


def test_one_group_one_member_and_a_time_can_be_asked_for() -> None:
    stage = TwoMembers()
    other = stage.consumer("cleo", group="cellar")
    stage.together(other)
    assert [line for line in story(stage, group="cellar") if "kitchen" in line or "anna" in line] == []
    of_ben = story(stage, group="kitchen", member="ben")
    assert "ben#b604 joins, subscribes to orders -> rebalance" in of_ben
    assert "anna#017f hears of it by Heartbeat" not in of_ben
    assert story(stage, group="kitchen", member=of_ben[0].split("(")[1].split()[0])  # A shortened member name also selects the member.
    later = list(tell(stage.ring.rows, group="kitchen", since=5_000_000_000))
    assert all(float(line.split()[0]) >= 5 for line in later[2:])


def test_who_is_not_there_is_said_with_those_who_are() -> None:
    stage = TwoMembers()
    with pytest.raises(NotTold, match="no group 'kitchn' in these rows: there are kitchen"):
        story(stage, group="kitchn")
    with pytest.raises(NotTold, match="nothing is told of a member 'dora': there are anna#017f, ben#b604"):
        story(stage, member="dora")
    with pytest.raises(NotTold, match="there is none at all"):
        list(tell([], group="g"))


def test_the_last_line_repeats_the_run() -> None:
    assert list(tell(TwoMembers().ring.rows, seed=7, journal="kept/a.jsonl"))[-1] == (
        "seed 7 · journal: kept/a.jsonl · `groupmock story kept/a.jsonl` tells all of it"
    )


def test_rows_of_a_file_tell_the_same_as_rows_in_memory() -> None:
    """Messages are objects of the codec in memory, and dicts in rows from a file."""
    import msgspec

    from groupmock.journal.rows import ROWS

    rows = TwoMembers().ring.rows
    read = [msgspec.json.decode(msgspec.json.encode(row), type=ROWS[json.loads(msgspec.json.encode(row))["kind"]]) for row in rows]
    assert list(tell(read)) == list(tell(rows))


def test_an_expiry_by_a_fault_rule_is_the_rules_and_not_the_tests() -> None:
    stage = TwoMembers()
    rule = {"name": "gone", "when": {"api": "Heartbeat", "client_id": "ben"}, "do": {"kind": "expire_member"}}
    stage.rig.command("add_faults", rules=[rule], origin="the test")
    stage.ben.beat()
    told = story(stage)
    assert any(line.startswith("fault rule gone strikes ben#b604's Heartbeat: expire_member") for line in told), told
    assert "ben#b604 is gone: its session expired, ordered by fault rule gone -> rebalance" in told
    assert not [line for line in told if line.startswith("ordered by the test: expire_member")]


@pytest.mark.parametrize("name", ["aiokafka", "kafka-python", "struck"])
def test_journals_of_stock_clients_are_told_whole(name: str) -> None:
    """An older version recorded these journals, so their rows have no `errors`."""
    with gzip.open(JOURNALS / f"{name}.jsonl.gz") as file:
        told = list(tell(JournalReader(file)))
    assert not [line for line in told if "could not be told" in line]
    assert not LONG_ID.search("\n".join(told))
    assert any(" (new)" in line for line in told) and any("is gone: " in line for line in told)


# -- bounds


def commits(number: int) -> Iterator[Row]:
    """Yield the rows of a group of one whose commits are refused, each for another partition, so that lines are not merged."""
    member = "anna-017f0000-0000-0000-0000-000000000000"
    yield MemberRow(t=0, group="g", member_id=member, what="added", reason="", client_id="anna")
    yield MovedRow(t=0, group="g", before="Empty", after="PreparingRebalance", generation=0, reason="", cause="member_joined", members=1)
    place: dict[str, Any] = {"connection": 1, "correlation_id": 1, "api_key": 8, "api_name": "OffsetCommit", "api_version": 7}
    for ticket in range(number):
        topics = [{"name": "orders", "partitions": [{"partition_index": ticket, "committed_offset": 1}]}]
        asked = {"group_id": "g", "member_id": member, "generation_id_or_member_epoch": 0, "topics": topics}
        yield RequestRow(t=ticket, ticket=ticket, received=0, handled=0, size=9, client_id="anna", message=asked, **place)
        refused = [{"name": "orders", "partitions": [{"partition_index": ticket, "error_code": 22}]}]
        errors = [ErrorAt(path="topics[0].partitions[0].error_code", error="ILLEGAL_GENERATION")]
        yield ReplyRow(t=ticket, ticket=ticket, size=9, error=errors[0].error, errors=errors, message={"topics": refused}, **place)


def test_a_long_story_has_a_summary_its_beginning_and_its_end() -> None:
    told = list(tell(commits(1500), most=100))
    assert len(told) < 120
    assert told[4].strip().startswith("1500 REFUSED, the first at 0.000: anna#017f's OffsetCommit ILLEGAL_GENERATION x1500")
    assert sum("lines are left out here" in line for line in told) == 1
    lines = [line for line in told if "commit of" in line]
    assert "orders/0 = 1" in lines[0] and "orders/1499 = 1" in lines[-1]


def test_memory_does_not_grow_with_the_journal() -> None:
    def most(number: int) -> int:
        tracemalloc.start()
        list(tell(commits(number), most=100))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    most(100)
    assert most(1600) < 1.5 * most(400) + 200_000


def test_many_groups_are_counted_and_not_all_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teller, "GROUPS", 3)
    rows = [MovedRow(t=n, group=f"g{n}", before="", after="Empty", generation=0, reason="x") for n in range(9)]
    told = list(tell(rows))
    assert [line for line in told if line.startswith("g")] == [f"g{n}: Empty, generation 0, 0 members" for n in range(3)]
    assert told[-1] == "(6 more groups are not told: name one of g3, g4, g5, g6, g7, g8)"
    monkeypatch.setattr(teller, "CLIENTS", 2)
    assert list(tell(rows))[-1] == "(at least 2 more groups are not told: name one of g3, g4)"


def test_hostile_names_are_only_text() -> None:
    name = "x\n    0.000  FORGED\x1b[2J" + "y" * 5000
    rows: list[Row] = [
        MemberRow(t=0, group=name, member_id=name, what="added", reason=name, client_id=name, group_instance_id=name),
        MovedRow(t=0, group=name, before="Empty", after="Empty", generation=1, reason=name, leader=name, protocol_name=name),
        MemberRow(t=0, group=name, member_id=name, what="removed", reason=name, client_id=name),
        NoteRow(t=0, what="internal error", fields={name: name}),
    ]
    for line in tell(rows):
        assert len(line) < 1200 and line.isprintable() and not line.startswith("    0.000  FORGED"), line


@pytest.mark.parametrize(
    "message", [None, 7, "x", [], {}, {"topics": 7}, {"topics": [7]}, {"topics": [{"partitions": [{}]}]}, {"groups": [7]}]
)
def test_messages_that_are_not_what_their_api_has_hurt_nobody(message: Any) -> None:
    rows: list[Row] = []
    for ticket, api in enumerate(
        ["JoinGroup", "SyncGroup", "OffsetCommit", "OffsetFetch", "Fetch", "ListOffsets", "Metadata", "LeaveGroup"]
    ):
        place: dict[str, Any] = {"connection": 1, "correlation_id": 1, "api_key": 11, "api_name": api, "api_version": 5, "ticket": ticket}
        asked = {"group_id": "g"} | (message if isinstance(message, dict) else {})
        rows.append(RequestRow(t=0, received=0, handled=0, size=9, message=asked, client_id="anna", **place))
        rows.append(ReplyRow(t=0, size=9, message=message, error="UNKNOWN_MEMBER_ID", **place))
    assert list(tell(rows))


def test_transactions_of_its_members_are_told() -> None:
    """The story names fenced producers and tells the result of pending offsets."""
    stage = TwoMembers()
    by_whom = "producer 7 (epoch 0) was fenced by a newer one with the same transactional id"
    fenced = {"transactional_id": "p-7", "cause": "fenced", "reason": by_whom}
    dropped = {"group": "kitchen", "offsets": 0, "cause": "transaction_aborted", "reason": "the transaction of producer 7 was aborted"}
    moved = {"transactional_id": "p-7", "before": "Ongoing", "after": "PrepareAbort", "cause": "timed_out", "reason": "open too long"}
    notes = [("producer_fenced", fenced), ("offsets_of_transaction", dropped), ("transaction_moved", moved)]
    last = list(stage.ring.rows)[-1]
    more = [NoteRow(seq=last.seq + 1 + place, t=last.t, what=what, fields=told) for place, (what, told) in enumerate(notes)]
    rows = [*stage.ring.rows, *more]
    assert [re.sub(r"^ +[0-9.]+  ", "", line) for line in tell(rows, group="kitchen")][-3:] == [
        f"transactional id p-7: {by_whom}",
        "the transaction of producer 7 was aborted (0 of the group's offsets are new)",
        "transactional id p-7 (Ongoing -> PrepareAbort): open too long",
    ]
