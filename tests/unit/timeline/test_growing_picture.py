"""A timeline that grows equals the timeline of all rows so far at every moment, forgets old parts, and gives up detail for large runs."""

from __future__ import annotations

import msgspec
import pytest

from groupmock.journal.rows import Row
from groupmock.timeline import growing
from groupmock.timeline.drawing import Drawing
from groupmock.timeline.growing import Growing
from groupmock.timeline.model import OPEN, WAITS, Timeline
from tools.mistakes.stage import Stage


def kitchen() -> tuple[Stage, list[Row]]:
    stage = Stage({"orders": 6})
    members = [stage.consumer(name) for name in ("anna", "ben", "cleo")]
    stage.together(*members)
    for offset in range(4):
        for member in members:
            member.beat()
            member.commit({("orders", 0): offset})
            stage.sleep(500)
    members[1].leave_because("closing time")
    stage.together(members[0], members[2])
    stage.sleep(1_000)
    members[0].beat()
    return stage, list(stage.ring.rows)


def facts(picture: Timeline) -> object:
    """Return the facts of the timeline's only group, with texts in place of their indexes."""
    (group,) = picture.groups
    texts = picture.texts
    lanes = [  # The model of a growing timeline leaves out lanes without any content.
        (
            each.label, [(life.since, life.until, life.came, life.gone) for life in each.lives],
            [(band.since, band.until, picture.sets[band.held]) for band in each.bands],
            [(mark.at, mark.api, texts[mark.result].replace(WAITS, OPEN), mark.seq, texts[mark.asked], texts[mark.answered])
             for mark in each.marks],
        )
        for each in group.lanes
    ]  # fmt: skip
    owners = [(each.since, each.until, each.state, each.processes, picture.sets[each.held]) for each in group.owners]
    return msgspec.to_builtins([sorted(lanes), owners, group.states, group.rounds, group.generations])


def test_it_is_at_every_row_the_picture_of_the_rows_so_far() -> None:
    _, rows = kitchen()
    grows = Growing("kitchen", None)
    compared = 0
    for place, row in enumerate(rows, 1):
        grows.feed(row)
        if place % 7 == 0 or place == len(rows):
            drawing = Drawing("kitchen")
            drawing.add("", rows[:place])
            if not drawing._groups:
                continue
            assert facts(grows.picture(0, 0)) == facts(drawing.timeline()), f"after {place} rows"
            assert facts(grows.picture(0, 0)) == facts(grows.picture(0, 0))
            compared += 1
    assert compared > 5


def test_it_shows_a_window_and_who_is_in_it() -> None:
    _, rows = kitchen()
    grows = Growing("kitchen", None)
    for row in rows:
        grows.feed(row)
    end = rows[-1].t
    picture = grows.picture(end + 1, end + 2)
    (group,) = picture.groups
    assert [each.label.split("#")[0] for each in group.lanes] == ["anna", "cleo"]
    assert all(lane.bands and not lane.marks for lane in group.lanes)
    assert picture.sources[0].begin == end + 1


def test_who_waits_is_drawn_as_long_as_it_waits() -> None:
    stage, rows = kitchen()
    grows = Growing("kitchen", None)
    for row in rows:
        grows.feed(row)
    stage.rig.command("hold_group", group="kitchen", state="PreparingRebalance")
    seen = len(rows)
    dora = stage.consumer("dora")
    dora.join()
    for row in list(stage.ring.rows)[seen:]:
        grows.feed(row)
    now = max(row.t for row in stage.ring.rows) + 3_000_000_000
    picture = grows.picture(0, now)
    waiting = [mark for lane in picture.groups[0].lanes for mark in lane.marks if picture.texts[mark.result] == WAITS]
    assert [each.latency > 2_000_000_000 for each in waiting] == [True]


def test_what_is_over_is_forgotten_and_who_owns_something_still_does() -> None:
    _, rows = kitchen()
    grows = Growing("kitchen", None)
    for row in rows:
        grows.feed(row)
    end = rows[-1].t
    grows.forget(end + 1)
    (group,) = grows.picture(0, end).groups
    assert [each.state for each in group.states] == ["Stable"]
    assert [(len(lane.marks), len(lane.bands)) for lane in group.lanes if lane.bands] == [(0, 1), (0, 1)]
    assert group.rounds == []
    assert all(each.until is None for each in group.owners)


def test_masses_make_it_worn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "MORE_LANES", 1)
    stage, rows = kitchen()
    grows = Growing("kitchen", None)
    for row in rows:
        grows.feed(row)
    grows.picture(0, 0)
    assert not grows.worn
    stage.rig.command("hold_group", group="kitchen", state="PreparingRebalance")
    for name in ("dora", "emil", "finn"):
        stage.consumer(name).join()
    for row in list(stage.ring.rows)[len(rows) :]:
        grows.feed(row)
    assert grows.worn


def test_nobody_is_drawn_of_a_group_that_was_not_seen() -> None:
    assert Growing("nobody", None).picture(0, 5).groups[0].lanes == []
