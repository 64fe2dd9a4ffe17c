"""A timeline shows the tasks of a streams group's members: active ones and gaps in the ownership map, standby tasks below a member."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from situations import journal_of
from streams_wire import worked

from groupmock.journal.read import read
from groupmock.timeline.drawing import Drawing
from groupmock.timeline.forms import html, perfetto, svg
from groupmock.timeline.growing import Growing
from groupmock.timeline.model import Timeline
from groupmock.timeline.scene import Scene, scene_of
from groupmock_codec.units import NS_PER_S

Shown = list[tuple[str, int, int]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return worked(tmp_path / "run.jsonl")


@pytest.fixture
def picture(path: Path) -> Timeline:
    drawing = Drawing()
    drawing.add("run", list(read(path)[1]))
    return drawing.timeline()


def row(scene: Scene, kind: str, title: str) -> Shown:
    """Return the items of one row: words, begin and end in s. For standby tasks the words are the tasks."""
    (found,) = [each for each in scene.rows if (each.kind, each.title) == (kind, title)]
    return [
        (scene.texts[each.label if kind == "standbys" else each.what], each.since // NS_PER_S, (each.since + each.lasted) // NS_PER_S)
        for each in found.items
    ]


def test_ownership_map_of_a_streams_group_has_a_row_for_each_task(picture: Timeline) -> None:
    scene = scene_of(picture)
    assert [each.title for each in scene.rows if each.kind == "partition"] == ["0_0", "0_1", "1_0", "1_1"]
    assert row(scene, "partition", "1_1") == [
        ("owned by anna", 2, 5), ("nobody owns it", 5, 6), ("owned by ben", 6, 9), ("nobody owns it", 9, 10), ("owned by cleo", 10, 42),
        ("nobody owns it", 42, 42),
    ]  # fmt: skip


def test_moves_of_a_streams_group_are_those_of_tasks(picture: Timeline) -> None:
    assert [each.title for each in scene_of(picture).rows if each.kind == "moves"] == ["moved tasks"]


@pytest.mark.parametrize(("protocols", "unit"), [(("kip-1071", "kip-1071"), "task"), (("streams-classic", "kip-1071"), "partition")])
def test_a_comparison_of_streams_groups_counts_tasks(protocols: tuple[str, str], unit: str, tmp_path: Path) -> None:
    drawing = Drawing()
    for place, protocol in enumerate(protocols):
        (tmp_path / str(place)).mkdir()
        journal = journal_of("scale-up", protocol, tmp_path / str(place), 3)
        drawing.add(f"{place}", read(journal)[1])
    (found,) = drawing.timeline(compare=True).comparisons
    assert [each.name for each in found.figures[-2:]] == [f"moved {unit}s", f"{unit}-seconds without an owner"]


def test_standby_tasks_have_a_row_below_their_member(picture: Timeline) -> None:
    scene = scene_of(picture)
    rows = [each.title for each in scene.rows if each.kind in ("lane", "standbys")]
    assert rows == ["anna#7Qan", "anna#7Qan stands by", "ben#7Qbe", "ben#7Qbe stands by", "cleo#7Qcl", "cleo#7Qcl stands by"]
    assert row(scene, "standbys", "ben#7Qbe stands by") == [("1_0", 4, 9), ("1_1", 9, 33)]


def test_every_form_draws_tasks(picture: Timeline) -> None:
    paper = svg.write(picture)
    for shown in (">0_1<", "anna#7Qan stands by", "NotReady", "StreamsGroupHeartbeat"):
        assert shown in paper
    assert "task 0/1" not in paper
    assert "stands by" in html.write(picture)
    names = {each["name"] for each in json.loads(perfetto.write(picture))["traceEvents"]}
    assert {"0_0, 0_1, 1_0, 1_1", "stands by for 1_0"} <= names


def test_a_growing_picture_forgets_standby_tasks_of_long_ago(path: Path) -> None:
    growing = Growing("app", None)
    for each in read(path)[1]:
        growing.feed(each)
    (group,) = growing.picture(20 * NS_PER_S, 43 * NS_PER_S).groups
    assert [(lane.label, len(lane.standbys)) for lane in group.lanes] == [("anna#7Qan", 1), ("ben#7Qbe", 1), ("cleo#7Qcl", 1)]
    growing.forget(34 * NS_PER_S)
    (group,) = growing.picture(35 * NS_PER_S, 43 * NS_PER_S).groups
    assert [(lane.label, len(lane.standbys)) for lane in group.lanes] == [("anna#7Qan", 1), ("cleo#7Qcl", 1)]
