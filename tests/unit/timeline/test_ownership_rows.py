"""The rows of the ownership map: a partition each, folded to topics if there are many, and above them what each rebalance moved."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import msgspec
from cases import for_each
from journal_pen import Pen
from random_groups import history
from rebalance_corners import BOTH, JOINED, SWAPPED

from groupmock.journal.rows import ROWS, Row
from groupmock.rounds import OWNED, PALE, SHARED, UNOWNED
from groupmock.timeline.drawing import Drawing, written
from groupmock.timeline.forms.svg import Painter
from groupmock.timeline.model import OWNERSHIP, Group, Source, Stretch, Timeline, Topics
from groupmock.timeline.ownership_rows import UNFOLDED, MapRow, map_rows
from groupmock.timeline.signs import HUES, LIGHT, SIGNS
from tools.mistakes.stage import Stage


def drawn(rows: list[Row]) -> Timeline:
    drawing = Drawing()
    drawing.add("test.jsonl", rows)
    return drawing.timeline()


def rows_of(pen: Pen) -> list[Row]:
    return [msgspec.convert(row, type=ROWS[row["kind"]]) for row in pen.rows]


def one_member(partitions: int) -> list[MapRow]:
    stage = Stage({"orders": partitions})
    stage.together(stage.consumer("anna"))
    stage.sleep(1000)
    timeline = drawn(list(stage.ring.rows))
    return list(map_rows(timeline, timeline.groups[0]))


def test_each_partition_has_a_row_with_its_owners() -> None:
    pen = Pen()
    pen.at(100).round("tea", 1, BOTH, JOINED, "Empty")
    pen.at(1000).round("tea", 2, SWAPPED, "leader m1 rejoined")
    timeline = drawn(rows_of(pen))
    moves, *partitions = map_rows(timeline, timeline.groups[0])
    assert [(each.label, each.since) for each in moves.items] == [("4 moved", 1020)]
    assert [each.title for each in partitions] == ["orders/0", "orders/1", "orders/2", "orders/3"]
    assert [(each.sign, each.owners, each.label) for each in partitions[0].items] == [
        (OWNED, "m1", "m1"), (UNOWNED, "", ""), (OWNED, "m2", "m2"),
    ]  # fmt: skip
    assert {each.label for each in partitions[1].items} == {""}, "partitions that change hands together have one label"


def test_a_rebalance_that_moved_nothing_says_so_unless_one_beside_it_moved_something() -> None:
    pen = Pen()
    pen.at(100).round("tea", 1, BOTH, JOINED, "Empty")
    pen.at(5_000).round("tea", 2, SWAPPED, "leader m1 rejoined")
    pen.at(5_100).round("tea", 3, SWAPPED, "leader m1 rejoined")
    pen.at(9_000).round("tea", 4, SWAPPED, "leader m1 rejoined")
    timeline = drawn(rows_of(pen))
    moves = next(map_rows(timeline, timeline.groups[0]))
    assert [(each.sign, each.label) for each in moves.items] == [
        ("moved", "4 moved"), ("moved nothing", "0 moved"), ("moved", "0 moved"),
    ]  # fmt: skip


@for_each(("partitions", "folded"), [(UNFOLDED, False), (UNFOLDED + 1, True)])
def test_many_partitions_are_folded_to_their_topic(partitions: int, folded: bool) -> None:
    rows = one_member(partitions)
    topics = [each for each in rows if each.kind == "topic"]
    assert [each.title for each in topics] == ([f"orders ({partitions} partitions)"] if folded else [])
    assert {each.under for each in rows if each.kind == "partition"} == {topics[0].title if folded else ""}


def test_the_svg_has_the_topic_for_its_partitions() -> None:
    stage = Stage({"orders": UNFOLDED + 1})
    stage.together(stage.consumer("anna"))
    stage.sleep(1000)
    texts = [
        each.text for each in ElementTree.fromstring(written("svg", drawn(list(stage.ring.rows)))).iter() if each.tag.endswith("}text")
    ]
    assert "orders (65 partitions)" in texts
    assert "orders/0" not in texts


@for_each("sign", [OWNED, PALE, "band"])
def test_no_two_processes_of_a_group_look_alike(sign: str) -> None:
    looks = [Painter(LIGHT).sign(SIGNS[sign], 0, 9, 0, 9, process) for process in range(48)]
    assert len(set(looks)) == 48
    colours = [re.findall("#[0-9a-f]{6}", look) for look in looks[:8]]
    assert len({colour for found in colours for colour in found if colour in HUES}) == 8, "the first eight differ by their colour alone"


def test_a_topic_shows_the_worst_state_of_its_partitions() -> None:
    def stretch(since: int, until: int | None, held: int, state: str, *processes: int) -> Stretch:
        return Stretch(since, until, held, OWNERSHIP.index(state), list(processes))

    group = Group("g", 0, processes=["a", "b"])
    group.owners = [
        stretch(0, 10, 0, OWNED, 0), stretch(0, 20, 1, OWNED, 1), stretch(10, 20, 0, UNOWNED), stretch(20, 30, 0, SHARED, 0, 1),
        stretch(20, 30, 1, OWNED, 1), stretch(30, None, 0, OWNED, 1), stretch(30, None, 1, OWNED, 1),
    ]  # fmt: skip
    source = Source("j", "", "", "", 0, 0, 40)
    sets = [[Topics(0, list(range(40)))], [Topics(0, list(range(40, 80)))]]
    (topic,) = (each for each in map_rows(Timeline("", [source], [group], ["t"], sets, []), group) if each.kind == "topic")
    assert [(each.since, each.until, each.sign, each.what, each.process) for each in topic.items] == [
        (0, 10, "several", "80 of 80 owned by a, b", -1), (10, 20, "unowned together", "40 of 80 unowned", -1),
        (20, 30, SHARED, "40 of 80 two owners", -1), (30, 40, OWNED, "80 of 80 owned by b", 1),
    ]  # fmt: skip


@for_each("seed", range(5))
def test_the_trace_has_a_thread_for_each_partition(seed: int) -> None:
    timeline = drawn(history(seed))
    trace = json.loads(written("perfetto", timeline))["traceEvents"]
    for process, group in enumerate(timeline.groups, 1):
        rows = {row.title: row for row in map_rows(timeline, group) if row.kind == "partition"}
        threads = {each["tid"]: each["args"]["name"] for each in trace if each["name"] == "thread_name" and each["pid"] == process}
        slices: dict[str, list[tuple[float, float, str]]] = {}
        for each in trace:
            if each["ph"] == "X" and each["pid"] == process and threads[each["tid"]] in rows:
                slices.setdefault(threads[each["tid"]], []).append((each["ts"], each["dur"], each["args"]["state"]))
        assert slices == {
            title: [(each.since / 1e3, (each.until - each.since) / 1e3, each.sign) for each in row.items] for title, row in rows.items()
        }
