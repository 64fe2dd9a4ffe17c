"""A timeline shows which member of a share group had which records of a partition, and what became of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from share_wire import ShareWire, id_of, worked

from groupmock.journal.read import read
from groupmock.journal.rows import NoteRow
from groupmock.rounds import JOINT, ownership_maps
from groupmock.timeline.drawing import Drawing
from groupmock.timeline.forms import perfetto, svg
from groupmock.timeline.forms.ownership import Panel, pictured
from groupmock.timeline.growing import Growing
from groupmock.timeline.model import Possession, RecordEvent, Timeline
from groupmock.timeline.ownership_rows import map_rows
from groupmock.timeline.record_track import MOST, RecordTrack
from groupmock.timeline.scene import scene_of
from groupmock_codec.units import NS_PER_S


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return worked(tmp_path / "run.jsonl")


@pytest.fixture
def picture(path: Path) -> Timeline:
    drawing = Drawing()
    drawing.add("run", list(read(path)[1]))
    return drawing.timeline()


def test_timeline_shows_who_had_which_records_and_until_when(picture: Timeline) -> None:
    (group,) = picture.groups
    anna, ben = group.records
    assert [(each.partition, each.label, group.processes[each.process]) for each in (anna, ben)] == [
        ("t/0", "anna#7Qan", "anna"), ("t/0", "ben#7Qbe", "ben"),
    ]  # fmt: skip
    spans = [(each.since // NS_PER_S, each.until and each.until // NS_PER_S, each.number, each.records) for each in ben.spans]
    assert spans == [(16, 18, 2, "2, 5"), (18, 20, 1, "2"), (20, 30, 1, "2")]
    assert [each.records for each in anna.spans] == ["0 to 5", "2 to 5", "4 to 5", "4", "2"]
    assert [(each.at // NS_PER_S, each.kind, each.title) for each in ben.events if each.kind != "again"] == [
        (18, "lost", "5 released by the member"), (20, "archived", "5 archived without being accepted"), (30, "lost", "2 available again"),
    ]  # fmt: skip
    assert [each.label for each in ben.events if each.kind == "again"] == ["2: second time", "5: second time", "5: third time"]


def test_every_form_draws_the_records_of_share_groups(picture: Timeline) -> None:
    rows = {row.title: row for row in scene_of(picture).rows if row.kind == "records"}
    assert list(rows) == ["t/0 records, anna#7Qan", "t/0 records, ben#7Qbe"]
    paper = svg.write(picture)
    for shown in ("t/0 records, anna#7Qan", "has 0 to 5", "5 archived", "archived without being accepted"):
        assert shown in paper
    events = json.loads(perfetto.write(picture))["traceEvents"]
    threads = {each["tid"]: each["args"]["name"] for each in events if each["name"] == "thread_name"}
    slices = [(threads[each["tid"]], each["name"], each["dur"] / 1e6) for each in events if each["ph"] == "X" and each["tid"] >= 200_000]
    assert slices[0] == ("t/0 records, anna#7Qan", "0 to 5", pytest.approx(4.001))


def test_a_growing_picture_forgets_records_of_long_ago(path: Path) -> None:
    growing = Growing("g", None)
    for row in read(path)[1]:
        growing.feed(row)
    (group,) = growing.picture(25 * NS_PER_S, 44 * NS_PER_S).groups
    assert {each.label: [span.records for span in each.spans] for each in group.records} == {"anna#7Qan": ["2"], "ben#7Qbe": ["2"]}
    growing.forget(41 * NS_PER_S)
    (group,) = growing.picture(25 * NS_PER_S, 44 * NS_PER_S).groups
    assert [each.label for each in group.records] == ["anna#7Qan"]


def note(at: int, what: str, **runs: Any) -> NoteRow:
    return NoteRow(seq=at, t=at, what=what, fields={"group": "g", "topic": "t", "partition": 0, "member_id": id_of("anna"), **runs})


def test_records_of_a_long_run_have_bounded_room() -> None:
    track = RecordTrack()
    for at in range(MOST + 10):
        track.note(note(at, "records_acquired", records=[[at, at, 1]]))
    assert track.left_out == 10
    (lane,) = track.lanes(str, lambda _: 0)
    assert len(lane.spans) == MOST
    assert lane.spans[-1].until == MOST  # It is not known how long the member had them.
    track.forget(MOST - 1)
    track.note(note(MOST + 20, "records_acknowledged", accepted=[[0, 0, 1]]))
    (lane,) = track.lanes(str, lambda _: 0)
    assert lane.spans[-1].since >= MOST - 1
    assert lane.events == [RecordEvent(MOST + 20, "accepted", "", "0 accepted")]


def test_several_changes_at_one_time_make_one_span() -> None:
    track = RecordTrack()
    track.note(note(5, "records_acquired", records=[[0, 3, 1]]))
    track.note(note(5, "records_acquired", records=[[4, 9, 1]]))
    track.note(note(8, "records_released", available=[[2, 4, 1]]))
    (lane,) = track.lanes(str, lambda _: 0)
    assert lane.spans == [Possession(5, 8, 10, "0 to 9"), Possession(8, None, 7, "0 to 1, 5 to 9")]


def test_a_member_does_not_have_offsets_that_it_acknowledged_as_gaps() -> None:
    track = RecordTrack()
    track.note(note(5, "records_acquired", records=[[0, 3, 1]]))
    track.note(note(8, "records_acknowledged", accepted=[[0, 2]], gaps=[[3, 3]]))
    (lane,) = track.lanes(str, lambda _: 0)
    assert lane.spans == [Possession(5, 8, 4, "0 to 3")]


def test_members_that_share_a_partition_are_no_alarm(tmp_path: Path) -> None:
    world = ShareWire(tmp_path / "run.jsonl")
    for member in ("anna", "ben", "cleo", "dora"):
        world.join(member)
        for each in world.epochs:
            world.beat(each)
    world.rig.close()
    rows = list(read(tmp_path / "run.jsonl")[1])
    drawing = Drawing()
    drawing.add("run", rows)
    picture = drawing.timeline()
    (row,) = (each for each in map_rows(picture, picture.groups[0]) if each.title == "t/0")
    assert (row.items[-1].sign, row.items[-1].what) == (JOINT, "read by anna, cleo")
    for paper in (svg.write(picture), pictured([Panel("g", ownership_maps(rows)["g"])])):
        assert "several members of a share group read it" in paper
        assert "own it" not in paper
