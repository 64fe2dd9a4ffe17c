"""The story mentions events that consumers encounter without an error."""

from __future__ import annotations

from typing import Any

from kitchen_of_two import Kitchen

from groupmock.story.telling import obstacles, tell
from tools.mistakes.stage import EARLIEST, LATEST, Stage


def lines(stage: Stage, of: str) -> list[str]:
    """Return the lines of the story that contain `of`, without their times."""
    return [line.strip().partition("  ")[2] for line in tell(stage.ring.rows, group="kitchen") if of in line]


def test_records_that_auto_offset_reset_passes_over_are_counted() -> None:
    kitchen = Kitchen()
    kitchen.produce("orders", 0, 3)
    kitchen.produce("orders", 2, 4)
    kitchen.anna.start(reset=LATEST)
    skipped = "anna#017f skips up to 7 records of orders/0,2 (nothing committed, auto.offset.reset latest)"
    assert lines(kitchen, "skips") == [skipped]


def test_nothing_is_passed_over_by_earliest_or_in_an_empty_log_or_behind_a_commit() -> None:
    kitchen = Kitchen()
    kitchen.anna.start(reset=LATEST)
    kitchen.produce("orders", 1, 3)
    kitchen.ben.start(reset=EARLIEST)
    kitchen.ben.commit({("orders", 1): 3, ("orders", 3): 0})
    kitchen.sleep(0)
    kitchen.ben.log_of(LATEST)
    kitchen.ben.start(reset=LATEST)
    assert lines(kitchen, "skips") == []


def test_a_reader_that_came_to_the_end_has_passed_nothing_over() -> None:
    kitchen = Kitchen()
    kitchen.produce("orders", 0, 3)
    kitchen.anna.start(reset=EARLIEST)
    kitchen.anna.log_of(LATEST)
    kitchen.fetch(3)
    kitchen.anna.start(reset=LATEST)
    assert lines(kitchen, "skips") == []


def test_a_read_committed_reader_behind_an_open_transaction_is_told_with_the_id() -> None:
    kitchen = Kitchen()
    kitchen.begin()
    kitchen.sleep(1000)
    for _ in range(2):
        kitchen.fetch(0, isolation_level=1)
    place = "anna#017f waits at orders/0 = 0 (read_committed)"
    told = f"{place}: the log goes on to 1 behind an open transaction, till (Ongoing since 6.000)"
    assert lines(kitchen, "waits at") == [f"{told} (2 times, until 7.000)"]
    known: dict[str, Any] = {"now": kitchen.rig.clock.now(), "sessions": {}, "dropped": 0}
    assert obstacles(kitchen.ring.rows, "kitchen", **known) == [told]
    kitchen.end()
    kitchen.fetch(0, isolation_level=1)
    assert obstacles(kitchen.ring.rows, "kitchen", **known) == []
    assert len(lines(kitchen, "waits at")) == 1


def test_a_read_uncommitted_reader_does_not_wait() -> None:
    kitchen = Kitchen()
    kitchen.begin()
    kitchen.fetch(0)
    assert lines(kitchen, "waits at") == []


def test_a_diverging_epoch_is_told() -> None:
    kitchen = Kitchen()
    kitchen.produce("orders", 0, 3)
    kitchen.core.cluster.topics.require_partition("orders", 0).lead(1)
    kitchen.produce("orders", 0, 3)
    kitchen.fetch(5, last_fetched_epoch=0)
    place = "anna#017f's fetch of orders/0 from 5"
    assert lines(kitchen, "DIVERGES") == [
        f"{place}: the log DIVERGES: leader epoch 0 ended at 3, what follows are other records (diverging_epoch)"
    ]


def test_a_lag_that_is_only_a_transaction_marker_is_told_as_such() -> None:
    kitchen = Kitchen()
    kitchen.begin()
    kitchen.end()
    kitchen.anna.commit({("orders", 0): 1})
    kitchen.sleep(0)
    assert next(kitchen.story()).endswith(", lag 1 (only transaction markers)")
    kitchen.produce("orders", 0, 1)
    assert next(kitchen.story()).endswith(", lag 2")
