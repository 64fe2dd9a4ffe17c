"""The headline of a group says in a few sentences what happened and what it cost, with the figures of the ownership map."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from consumer_wire import ConsumerWire
from healthy_runs import healthy_rows
from kitchen_of_two import Kitchen
from random_groups import history
from told_runs import scenario_runs

from groupmock.journal.rows import ClientRow, MovedRow
from groupmock.rig.kept_rows import KeptRows
from groupmock.rounds import PALE, UNOWNED, OwnershipMap, ownership_maps
from groupmock.story.headline import Headlines
from groupmock.story.telling import tell
from groupmock.timeline.drawing import Drawing, written
from groupmock.timeline.scene import scene_of
from groupmock_codec.group_states import DEAD, EMPTY
from groupmock_codec.units import NS_PER_MS, NS_PER_S
from tools.mistakes.stage import Consumer, Stage

COUNTED: Final = re.compile(
    r"^(?:The first join and |(\d+) first joins and )?(\d+|[Nn]o) rebalances? in "
    r"([\d.]+ m?s)(?: of rows that begin in the middle of the run)?(?:, (\d+|no) partitions? moved)?[.:]"
)
UNREAD: Final = re.compile(r"(?:unread for|since, for) (?:up to )?([\d.]+ m?s)")
TOTAL: Final = re.compile(r"In all, ([\d.]+) partition-seconds were unread")
LONGEST: Final = re.compile(r"Nothing was unread for longer than ([\d.]+ m?s)")


def headline(stage: Stage) -> str:
    """Return the second line of the story of a stage, at the present moment."""
    return list(stage.story())[1].strip()


def started(stage: Stage, *consumers: Consumer) -> None:
    stage.together(*consumers)
    for consumer in consumers:
        consumer.beat()


def test_headline_of_a_quiet_run_says_who_came_and_went() -> None:
    stage = Stage({"orders": 4})
    anna, ben = stage.consumer("anna"), stage.consumer("ben")
    started(stage, anna, ben)
    assert headline(stage) == "The first join and no rebalance in 3.0 s: anna and ben joined. Nothing was unread."


@pytest.mark.parametrize("killed", [False, True])
def test_headline_says_killed_only_if_a_row_says_so(killed: bool) -> None:
    stage = Stage({"orders": 4})
    anna, ben = stage.consumer("anna", session_ms=10_000), stage.consumer("ben", session_ms=6000)
    started(stage, anna, ben)
    stage.sleep(1000)
    if killed:
        stage.ring.take(ClientRow(t=stage.rig.clock.now(), client="ben", what="killed"))
    ben.hang_up()
    for _ in range(8):
        stage.sleep(1000)
        anna.beat()
    stage.together(anna)
    how = "ben was killed at 4.0 s" if killed else "ben's connection ended at 4.0 s without LeaveGroup"
    assert headline(stage).startswith(
        f"The first join and 1 rebalance in 15.0 s, 2 partitions moved. {how}; "
        "orders/1,3 were unread for 11.0 s (its session of 6000 ms expired at 9.0 s)"
    )


def test_headline_says_that_a_connection_ended_and_the_session_runs() -> None:
    stage = Stage({"orders": 4})
    started(stage, anna := stage.consumer("anna"), ben := stage.consumer("ben"))
    ben.hang_up()
    stage.sleep(2000)
    anna.beat()
    ended = "ben's connection ended at 3.0 s without LeaveGroup; nobody has read orders/1,3 since, for 2.0 s, and its session still runs."
    ended += " In all, 4.0 partition-seconds were unread."
    assert headline(stage) == f"The first join and no rebalance in 5.0 s. {ended}"


def test_headline_names_the_member_whose_coming_began_a_costly_rebalance() -> None:
    stage = Stage({"orders": 40})
    anna, ben = stage.consumer("anna"), stage.consumer("ben")
    started(stage, anna)
    ben.join()
    anna.beat()
    stage.sleep(1500)
    stage.together(anna, waiting=[ben])
    told = "ben joined at 3.0 s; the rebalance left 40 partitions unread for 3.0 s. In all, 120.0 partition-seconds were unread."
    assert headline(stage).endswith(told)


def test_headline_tells_a_removal_and_its_rebalance_as_one_event() -> None:
    stage = Stage({"orders": 4})
    anna, ben = stage.consumer("anna"), stage.consumer("ben")
    started(stage, anna, ben)
    ben.leave()
    anna.beat()
    anna.join()
    stage.together(anna)
    told = "ben left at 3.0 s; orders/0-3 were unread for 3.0 s."
    assert headline(stage).endswith(f"{told} In all, 12.0 partition-seconds were unread.")


def test_headline_names_whom_a_hanging_rebalance_awaits() -> None:
    stage = Stage({"orders": 4})
    anna, ben, cleo = stage.consumer("anna"), stage.consumer("ben"), stage.consumer("cleo")
    started(stage, anna, ben)
    cleo.join()
    anna.join()
    stage.sleep(2000)
    waits = "The rebalance that began at 3.0 s has not ended after 2.0 s: it awaits JoinGroup of ben."
    assert headline(stage).startswith(f"The first join and 1 rebalance in 5.0 s. {waits}")
    ben.join()
    stage.sleep(4000)
    assert "it awaits SyncGroup of its leader anna." in headline(stage)


def test_headline_names_whom_a_reconciling_group_awaits(tmp_path: Path) -> None:
    kept = KeptRows(heartbeats=True)
    group = ConsumerWire(tmp_path / "run.jsonl", [kept])
    group.join("A")
    group.join("B")
    group.rig.sleep(1000)
    group.beat("A", owned=[0, 1, 2, 3])
    group.rig.sleep(2000)
    told = list(tell(kept.rows, now=group.rig.clock.now()))[1]
    assert "has not ended after 3.0 s: it awaits heartbeats of A" in told


def test_headline_of_rows_from_the_middle_of_a_run_says_so() -> None:
    stage = Stage({"orders": 4})
    anna, ben = stage.consumer("anna"), stage.consumer("ben")
    started(stage, anna)
    ben.join()
    anna.beat()
    stage.together(anna, waiting=[ben])
    rows = list(stage.ring.rows)
    stable = next(place for place, row in enumerate(rows) if isinstance(row, MovedRow) and row.after == "Stable")
    told = list(tell(rows[stable + 2 :], dropped=stable + 2))
    assert told[2].strip().startswith("1 rebalance in 3.0 s of rows that begin in the middle of the run")


def test_headline_of_a_picture_says_which_transaction_is_open() -> None:
    kitchen = Kitchen()
    kitchen.begin()
    kitchen.sleep(2000)
    kitchen.write()
    drawing = Drawing()
    drawing.add("run", kitchen.ring.rows)
    timeline = drawing.timeline()
    (told,) = (each.headline for each in timeline.sources)
    waits = "read_committed readers wait at offset 0 of orders/0 (1 record behind it)."
    assert told == f"The transaction of till is open since 6.0 s, for 2.0 s: {waits}"
    headlines = [timeline.groups[0].headline, told]
    assert scene_of(timeline).headlines == headlines
    assert all(each in written("svg", timeline) for each in headlines)


# -- its figures are those of the fold


@cache
def runs() -> list[tuple[str, Any]]:
    """Return drawn histories, and scenarios of every protocol."""
    drawn = [(f"random {seed}", history(seed)) for seed in range(12)] + [(f"healthy {seed}", healthy_rows(seed)) for seed in range(9)]
    return [*drawn, *((run.name, run.rows) for run in scenario_runs())]


def unread(found: OwnershipMap) -> list[int]:
    """Return how long partitions that were owned before had no owner, from the ownership map."""
    periods: list[int] = []
    for spans in found.spans.values():
        lasted = None  # Nobody owned the partition before its first owner.
        for span in spans:
            if span.state not in (PALE, UNOWNED):
                periods += [lasted] if lasted else []
                lasted = 0
            elif lasted is not None:
                lasted += (found.end if span.until is None else span.until) - span.since
        periods += [lasted] if lasted else []
    return periods


def deserted(found: OwnershipMap) -> int:
    """Return the partition-ns since the last members gave their partitions up, if the group ended without members."""
    if not found.rebalances or found.rebalances[-1].ended_in not in (EMPTY, DEAD):
        return 0
    last = [spans[-1] for spans in found.spans.values() if len(spans) > 1 and spans[-1].state == UNOWNED and spans[-2].state != PALE]
    return sum(found.end - span.since for span in last)


def shown(ns: int) -> str:
    return f"{ns / NS_PER_S:.1f} s" if ns >= 100 * NS_PER_MS else f"{ns / NS_PER_MS:.0f} ms"


def test_every_figure_of_a_headline_is_that_of_the_ownership_map() -> None:
    counted = {"unread": 0, "longest": 0, "moved": 0, "total": 0}
    for name, rows in runs():
        for group, found in ownership_maps(rows).items():
            told = next((line.strip() for line in list(tell(rows, group=group))[1:2]), "")
            if not found.rebalances:
                assert "rebalance in" not in told
                continue
            head = COUNTED.match(told)
            assert head is not None, (name, told)
            first_joins = int(head[1] or "The first join" in told)
            assert first_joins == sum(each.first_join for each in found.rebalances), (name, told)
            assert int(head[2].lower().replace("no", "0")) == len(found.rebalances) - first_joins, (name, told)
            assert head[3] == shown(found.end - found.begin), (name, told)
            assert int((head[4] or "0").replace("no", "0")) == (found.moved or 0), (name, told)
            periods = [*unread(found), *(gap.lasted(0, found.end) for each in found.rebalances for gap in each.gaps)]
            for lasted in UNREAD.findall(told):
                assert lasted in set(map(shown, periods)), (name, told)
            quiet = LONGEST.search(told)
            assert quiet is None or quiet[1] in set(map(shown, periods)), (name, told)
            total = TOTAL.search(told)
            unowned = sum(unread(found)) - deserted(found)
            assert (total[1] if total else "0.0") == f"{unowned / NS_PER_S:.1f}" or unowned < NS_PER_S // 20, (name, told)
            counted["total"] += total is not None
            counted["unread"] += len(UNREAD.findall(told))
            counted["longest"] += quiet is not None
            counted["moved"] += head[4] not in (None, "no")
    assert min(counted.values()) > 10, counted


def test_headline_says_who_left_and_came_back() -> None:
    rows = dict(runs())["rolling-bounce, range"]
    assert re.search(r"partitions moved: 4 processes left and came back\. Nothing was unread for longer than 0\.3 s\.", list(tell(rows))[1])


def test_headline_of_a_picture_is_that_of_the_story() -> None:
    for name, rows in runs():
        drawing = Drawing()
        drawing.add(name, rows)
        for group in drawing.timeline().groups:
            assert group.headline == next((line.strip() for line in list(tell(rows, group=group.name))[1:2] if "rebalance" in line), "")


def test_headlines_of_a_group_that_never_rebalanced_are_empty() -> None:
    from groupmock.rounds import Rebalances

    assert Headlines(Rebalances()).of("kitchen") == ""
