"""The timeline's bands and its ownership map equal those of the fold, each mark has an owner, and large runs are reduced."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cases import for_each
from consumer_wire import handed_over, in_trouble
from journal_pen import Pen
from kitchen_of_two import TwoMembers
from random_groups import history
from rebalance_corners import CORNERS

from groupmock.journal.read import JournalReader, UnknownRow, read
from groupmock.journal.rows import ROWS, ReplyRow, RequestRow, Row
from groupmock.journal.source import opened
from groupmock.rounds import OwnershipMap, Partition, Rebalances, ownership_maps
from groupmock.timeline import builder
from groupmock.timeline.drawing import READ, Drawing, of_journal
from groupmock.timeline.model import NEVER, OK, OPEN, OWNERSHIP, Group, Lane, Timeline
from groupmock.timeline.said import said, unsaid
from groupmock.timeline.scene import scene_of
from groupmock.timeline.thinning import Dots, Spans
from groupmock_clients.scenarios.catalogue import scenario
from groupmock_clients.scenarios.play import Protocol, Sizes, play
from groupmock_clients.scenarios.virtual import open_stage
from tools.mistakes.stage import Stage

JOURNALS = Path(__file__).parents[2] / "data" / "journals"


def rows_of(pen: Pen) -> list[Row]:
    """Return the rows as a reader of journals yields them."""
    return [msgspec.convert(row, type=ROWS[row["kind"]]) for row in pen.rows]


def drawn(rows: Iterable[Row], **how: Any) -> Timeline:
    drawing = Drawing(**how)
    drawing.add("test.jsonl", list(rows))
    return drawing.timeline()


def group_of(timeline: Timeline, name: str = "kitchen") -> Group:
    (found,) = [each for each in timeline.groups if each.name == name]
    return found


def partitions(timeline: Timeline, held: int) -> set[Partition]:
    return {(timeline.topics[each.topic], number) for each in timeline.sets[held] for number in each.numbers}


def lasted(since: int, until: int | None) -> bool:
    return until is None or until > since


def folded(rows: Iterable[Row]) -> tuple[dict[str, list[tuple[int, str, frozenset[Partition]]]], Rebalances]:
    """Compute with the fold alone what each member owns after every row, by group."""
    fold = Rebalances()
    owned: dict[tuple[str, str], frozenset[Partition]] = {}
    changes: dict[str, list[tuple[int, str, frozenset[Partition]]]] = defaultdict(list)
    members: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        fold.feed(row)
        for name, group in fold.groups.items():
            members[name] |= set(group.ownership._owned)
            for member in members[name]:
                now = group.ownership.of(member)
                if owned.get((name, member), frozenset()) != now:
                    owned[name, member] = now
                    changes[name].append((row.t, member, now))
    return changes, fold


def check(rows: list[Row]) -> None:
    """Check that the timeline of these rows agrees with the fold for each group."""
    timeline = drawn(rows)
    changes, fold = folded(rows)
    for group in timeline.groups:
        bands = {
            (lane.member_id, band.since, band.until, partition)
            for lane in group.lanes
            for band in lane.bands
            for partition in partitions(timeline, band.held)
        }
        assert bands == _bands(changes[group.name]), group.name
        moves = [(each.number, each.moved) for each in ownership_maps(rows)[group.name].rebalances]
        assert [(each.number, each.moves) for each in group.rounds] == moves, group.name
        # If the clock jumps back, states of the group that followed each other may overlap in the picture, so this is checked only with
        # ordered rows.
        if in_order(rows):
            assert _owners(timeline, group) == _spans(ownership_maps(rows)[group.name]), group.name
        assert group.states[-1].state == fold.groups[group.name].state
        assert group.states[-1].since == fold.groups[group.name].since


def in_order(rows: list[Row]) -> bool:
    times = [row.t for row in rows]
    return times == sorted(times)


def _bands(changes: list[tuple[int, str, frozenset[Partition]]]) -> set[tuple[str, int, int | None, Partition]]:
    """Return the bands from each change of a member to its next one; the clock may jump back."""
    found: set[tuple[str, int, int | None, Partition]] = set()
    for member in {each[1] for each in changes}:
        mine = [each for each in changes if each[1] == member]
        for place, (since, _, owned) in enumerate(mine):
            until = max(since, mine[place + 1][0]) if place + 1 < len(mine) else None
            found |= {(member, since, until, partition) for partition in owned if lasted(since, until)}
    return found


def _owners(timeline: Timeline, group: Group) -> set[tuple[Any, ...]]:
    return {
        (partition, OWNERSHIP[each.state], tuple(group.processes[one] for one in each.processes), each.since, each.until)
        for each in group.owners
        for partition in partitions(timeline, each.held)
    }


def _spans(found: OwnershipMap) -> set[tuple[Any, ...]]:
    return {(span.partition, span.state, span.processes, span.since, span.until) for spans in found.spans.values() for span in spans}


def test_timeline_of_a_drawing_can_be_taken_twice() -> None:
    drawing = Drawing()
    for seed in (1, 2):
        drawing.add(f"{seed}.jsonl", history(seed))
        assert drawing.timeline() == drawing.timeline()
    assert drawing.journals == 2


# -- histories


@for_each("seed", range(30))
def test_every_band_and_owner_of_a_random_history_is_the_folds(seed: int) -> None:
    check(history(seed))


@for_each("name", CORNERS)
def test_every_band_and_owner_of_a_rare_history_is_the_folds(name: str) -> None:
    check(rows_of(CORNERS[name]()))


@for_each(
    ("name", "protocol"),
    [
        ("rolling-bounce", "range"),
        ("death-in-time", "design-2"),
        ("second-loss", "design-3"),
        ("scale-up", "cooperative-sticky"),
        ("rolling-bounce", "kip-848"),
    ],
)
def test_every_band_and_owner_of_a_scenario_is_the_folds(name: str, protocol: str, tmp_path: Any) -> None:
    sizes, played = Sizes(members=4, partitions=6), Protocol(protocol, "scripted")
    journal = tmp_path / f"{name}-{protocol}.jsonl"
    with open_stage(sizes, played, journal) as stage:
        play(scenario(name), sizes, played, stage)
    with journal.open("rb") as file:
        check([row for row in JournalReader(file) if isinstance(row, Row)])


# -- whose marks


def lane_of(stage: Stage, name: str) -> tuple[Timeline, Lane]:
    timeline = drawn(stage.ring.rows)
    (found,) = [each for each in group_of(timeline).lanes if each.label.startswith(name)]
    return timeline, found


def test_a_lane_has_the_marks_of_its_member_with_result_and_wait() -> None:
    stage = TwoMembers()
    stage.anna.commit({("orders", 2): 17}, generation=1)
    stage.sleep(0)
    timeline, anna = lane_of(stage, "anna")
    marks = [(timeline.apis[each.api], timeline.texts[each.result]) for each in anna.marks]
    assert marks[0] == ("JoinGroup", "MEMBER_ID_REQUIRED") or marks[0] == ("JoinGroup", OK)
    assert ("Heartbeat", "REBALANCE_IN_PROGRESS") in marks
    assert marks[-1] == ("OffsetCommit", "ILLEGAL_GENERATION")
    assert (anna.label, anna.client_id, anna.lives[-1].until) == ("anna#017f", "anna", None)
    waited = max(each.latency for each in anna.marks)
    assert waited == 100_000_000, "the second JoinGroup waits for the initial delay of this stage"
    told = timeline.texts[anna.marks[-1].asked]
    assert "OffsetCommit v" in told
    assert "committed_offset: 17" in told


def test_subscriptions_and_assignments_are_opened() -> None:
    timeline, ben = lane_of(TwoMembers(), "ben")
    told = [timeline.texts[each] for mark in ben.marks for each in (mark.asked, mark.answered)]
    assert any("topics: [orders]" in each for each in told), told
    assert any("assigned_partitions: [{topic: orders, partitions: [1]}, {topic: orders, partitions: [3]}]" in each for each in told), told


def test_who_is_gone_says_how() -> None:
    stage = TwoMembers()
    stage.ben.leave_because("the shift is over")
    stage.sleep(0)
    _, ben = lane_of(stage, "ben")
    (life,) = ben.lives
    assert (life.gone, life.cause) == ("it left: the shift is over", "member_left")


def test_members_outlive_the_move_of_their_coordinator() -> None:
    stage = TwoMembers()
    stage.rig.command("stop_node", node=1, clean=False)
    stage.rig.command("start_node", node=1)
    _, ben = lane_of(stage, "ben")
    assert [(life.until, life.gone) for life in ben.lives] == [(None, ben.lives[0].gone)]


def test_what_was_never_answered_and_what_is_still_open_say_so() -> None:
    pen = Pen()
    pen.at(1_000).moved("kitchen", "", "Empty", 0, "new")
    pen.join("kitchen", "m1", 1)
    never = pen.join("kitchen", "m2", 2)
    pen.at(2_000).row("abandoned", **pen.open[never], reason="it joined again elsewhere")
    timeline = drawn(rows_of(pen))
    found = {lane.member_id: timeline.texts[lane.marks[0].result] for lane in group_of(timeline).lanes}
    assert found == {"m1": OPEN, "m2": NEVER}


def test_faults_commands_and_findings_are_pinned_to_whom_they_struck() -> None:
    stage = TwoMembers()
    rule = {"name": "lost", "when": {"api": "Heartbeat"}, "do": {"kind": "error", "code": 25}}
    stage.rig.command("add_faults", rules=[rule], origin="the test")
    stage.anna.beat()
    stage.rig.command("expire_member", group="kitchen", member=stage.ben.member_id)
    stage.anna.commit({("orders", 3): 5})
    stage.sleep(0)
    timeline = drawn(stage.ring.rows, audit=True)
    pinned = {(lane.label, each.kind) for lane in group_of(timeline).lanes for each in lane.events}
    assert {("anna#017f", "fault"), ("ben#b604", "command")} <= pinned
    assert [each.title for each in timeline.sources[0].events] == ["add_faults"]


def test_head_of_a_picture_sums_up_faults() -> None:
    stage = TwoMembers()
    error = {"name": "lost", "when": {"api": "Heartbeat", "every": 2}, "do": {"kind": "error", "code": 25}}
    slow = {"name": "slow", "when": {"api": "OffsetCommit"}, "do": {"kind": "delay", "seconds": 0.25}}
    stage.rig.command("add_faults", rules=[error, slow], origin="the test")
    for _ in range(2):
        stage.anna.beat()
        stage.ben.beat()
    for member in (stage.anna, stage.ben, stage.ben):
        member.commit({("orders", 0): 5})
        stage.sleep(300)
    scene = scene_of(drawn(stage.ring.rows))
    assert scene.headlines[1:] == [
        "Fault rule slow: 3 OffsetCommits delayed by 0.25 s (anna 1, ben 2).",
        "Fault rule lost: 2 Heartbeats answered with UNKNOWN_MEMBER_ID (ben 2).",
    ]
    notes = {row.title: row.note for row in scene.rows if row.kind == "lane"}
    assert notes == {"anna#017f": "slow \u00d71", "ben#b604": "lost \u00d72, slow \u00d72"}


def test_head_of_a_picture_sums_up_findings() -> None:
    stage = TwoMembers()
    for _ in range(2):
        stage.ben.commit({("orders", 2): 5})
        stage.sleep(300)
    first, told = scene_of(drawn(stage.ring.rows, audit=True)).headlines
    assert first.startswith("The first join and 1 rebalance in")
    assert re.fullmatch(
        r"ben broke CLIENT-67 \(A member commits only partitions that it was assigned\) 2 times, first at [\d.]+ s: ben#b604 "
        r"commits an offset for partition 2 of orders, which .*\. The coordinator does not look: it overwrites .*\.",
        told,
    )


def test_one_group_can_be_asked_for() -> None:
    stage = TwoMembers()
    stage.together(stage.consumer("cleo", group="cellar"))
    assert [each.name for each in drawn(stage.ring.rows, group="cellar").groups] == ["cellar"]
    with pytest.raises(LookupError, match="no group 'attic' in these rows: there are cellar, kitchen"):
        drawn(stage.ring.rows, group="attic")


def test_rows_that_say_nonsense_are_counted_and_the_rest_is_drawn() -> None:
    stage = TwoMembers()
    rows = list(stage.ring.rows)
    wrong = msgspec.structs.replace(next(row for row in rows if row.__class__ is ROWS["reply"]), message={"members": 3}, ticket=-1)
    request = next(row for row in rows if row.__class__ is ROWS["request"])
    asked = msgspec.structs.replace(request, message={"group_id": "x"}, ticket=-1, api_key=11, api_name="JoinGroup")
    timeline = drawn([*rows, asked, wrong])
    assert timeline.sources[0].notices == ["2 rows could not be drawn: their messages are not what their API has"]
    assert len(group_of(timeline).lanes) == 2


def test_a_lane_names_the_client_library_where_it_said_so() -> None:
    """A client names its library in ApiVersions from version 3 on (KIP-511)."""
    timeline = of_journal(str(JOURNALS / "struck.jsonl.gz"), "calm")
    assert [(lane.client_id, lane.library) for lane in group_of(timeline, "calm").lanes] == [("reader-calm", "kafka-python 3.0.12")]


# -- what is not read, and not told


@for_each("name", ["aiokafka", "kafka-python", "struck"])
def test_what_is_not_drawn_need_not_be_read(name: str) -> None:
    """Most rows of a journal are Fetches and similar requests, which need not be decoded for the timeline."""
    path = JOURNALS / f"{name}.jsonl.gz"
    whole, rows = read(path)
    drawing = Drawing()
    drawing.add(str(path), rows, whole.header)
    assert of_journal(str(path)) == drawing.timeline()
    with opened(path) as source:
        reader = JournalReader(source)
        reader.only = READ
        seen = list(reader)
    assert [(each.seq, each.t) for each in seen] == [(each.seq, each.t) for each in rows]
    assert (reader.ended, reader.count, reader.last, reader.broken) == (whole.ended, whole.count, whole.last, whole.broken)
    assert any(isinstance(each, UnknownRow) for each in seen)


@for_each("name", ["aiokafka", "kafka-python", "struck"])
def test_a_message_that_is_told_later_says_the_same(name: str) -> None:
    for row in read(JOURNALS / f"{name}.jsonl.gz")[1]:
        if isinstance(row, RequestRow | ReplyRow):
            kept = unsaid(row, "first, ")
            assert (kept if isinstance(kept, str) else kept.said()) == f"first, {said(row)}"


def test_nothing_is_left_of_what_is_dropped() -> None:
    dots: Dots[Dot] = Dots(10, lambda old, new: None)
    for number in range(1000):
        dots.add(number, number, lambda at=number: Dot(at), lambda at=number: Dot(at))
    # The list of marks may keep one more than its limit, because the extra mark shows that the limit is reached.
    assert len(list(dots.items())) <= 11


# -- too much


def test_heartbeats_beyond_the_room_become_marks_that_stand_for_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "MOST_ROUTINE", 40)
    stage = TwoMembers()
    for offset in range(200):
        stage.sleep(100)
        stage.anna.commit({("orders", 0): offset})
    stage.sleep(0)
    timeline, anna = lane_of(stage, "anna")
    commits = [each for each in anna.marks if timeline.apis[each.api] == "OffsetCommit"]
    assert len(commits) <= 40
    assert sum(each.count for each in commits) == 200
    (notice,) = timeline.sources[0].notices
    assert "accepted heartbeats and commits that came out alike within" in notice


class Span:
    def __init__(self, since: int, until: int | None) -> None:
        self.since, self.until = since, until


def test_of_too_many_spans_the_shortest_go_and_none_that_lasts() -> None:
    spans: Spans[Span] = Spans(100)
    for number in range(1000):
        spans.add("lane", Span(number, number + number % 50))
    spans.add("lane", Span(0, None))
    kept = spans.of("lane")
    assert len(kept) + spans.dropped == 1001
    assert len(kept) <= 100
    assert all(each.until is None or each.until - each.since >= spans.shortest for each in kept)
    assert any(each.until is None for each in kept)


class Dot:
    def __init__(self, at: int) -> None:
        self.at = self.until = at
        self.count = 1


def test_dots_of_more_keys_than_there_is_room_are_counted() -> None:
    def add(old: Dot, new: Dot) -> None:
        old.count += new.count

    dots: Dots[Dot] = Dots(10, add)
    for number in range(1000):
        dots.add(number % 50, number, lambda at=number: Dot(at), lambda at=number: Dot(at))
    counted = sum(each.count for _, kept in dots.items() for each in kept)
    assert counted + dots.dropped == 1000
    assert sum(len(kept) for _, kept in dots.items()) <= 50


@for_each("play", [handed_over, in_trouble])
def test_a_consumer_group_is_drawn_as_the_fold_has_it(play: Callable[[Path], Path], tmp_path: Path) -> None:
    _, rows = read(play(tmp_path / "run.jsonl"))
    check([row for row in rows if isinstance(row, Row)])
    group = group_of(drawn([row for row in rows if isinstance(row, Row)]), "g")
    assert all(lane.marks for lane in group.lanes), "each heartbeat is a mark"
    assert [each.number for each in group.rounds] == [*range(1, len(group.rounds) + 1)]
    assert any(each.completing for each in group.rounds)
