"""A recording of real Kafka behind the proxy gives the same timeline as the same scenario on groupmock, except for times and ids.
tests/live/record makes one anew."""

from __future__ import annotations

from timeline_twin import GROUP, OnTheStage, Overheard, differences, drawn, here, of_kafka, shift, without_times

from groupmock.journal.rows import MemberRow
from groupmock.timeline.drawing import written
from groupmock.timeline.scene import scene_of


def test_a_recording_of_kafka_gives_the_same_picture_as_the_same_scenario_here() -> None:
    assert differences(without_times(of_kafka()), without_times(here())) == []


def test_who_overhears_our_own_coordinator_draws_what_it_says_itself() -> None:
    """The expired session was never restarted by a SyncGroup, so a recorder that assumes a restart finds no expired session."""
    setting = Overheard()
    shift(setting)
    assert differences(without_times(drawn(setting.recorded.rows)), without_times(drawn(setting.kept.rows))) == []


def test_the_scenario_has_what_a_picture_can_show() -> None:
    found = without_times(of_kafka())
    assert [each[0] for each in found["rebalances"]] == ["Stable"] * 5 + ["Empty"]
    assert {cause for line, lives in found.items() if line.endswith("stays") for _, cause in lives} == {
        "member_left", "session_expired", "replaced",
    }  # fmt: skip
    assert [heard for *_, heard in found["generations"]] == [3, 2, 1, 2, 3], "who takes another's place is not one more that was told"
    assert {state for state, *_ in found["owners"]} == {"owned", "pale", "unowned"}
    assert ("OffsetCommit", "ILLEGAL_GENERATION", 1) in found["anna.0: asks"]


def test_the_comparison_notices_one_row_less() -> None:
    setting = OnTheStage()
    shift(setting)
    rows = setting.kept.rows
    gone = next(row for row in rows if isinstance(row, MemberRow) and row.what == "removed")
    told = differences(without_times(drawn([row for row in rows if row is not gone])), without_times(here()))
    assert any(each.startswith("ben.0: stays") for each in told), told


def test_every_form_can_be_written_of_a_recording() -> None:
    timeline = of_kafka()
    assert timeline.sources[0].notices == []
    assert [each.name for each in scene_of(timeline).groups] == [GROUP]
    assert written("html", timeline)
    for form in ("svg", "perfetto"):
        assert GROUP in written(form, timeline)
