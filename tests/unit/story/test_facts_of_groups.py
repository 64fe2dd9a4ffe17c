"""Stories of groups name the leader, the members, their partitions, and whether the group exists."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from kitchen_of_two import TwoMembers
from msgspec import structs

from groupmock.journal.rows import MemberRow, MovedRow, RequestRow, Row
from groupmock.story.telling import tell
from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tools.mistakes.stage import Stage


def told(rows: Iterable[Row], **how: Any) -> list[str]:
    """Return the lines of the story without their times."""
    return [re.sub(r"^ +[0-9.]+  ", "", line) for line in tell(rows, **how)]


def of(stage: Stage) -> list[str]:
    return told(stage.ring.rows)


def after_the_first(stage: Stage, after: str) -> list[str]:
    """Return the story from a ring that has dropped all rows up to the group's first change into that state."""
    rows = list(stage.ring.rows)
    first = next(place for place, row in enumerate(rows) if isinstance(row, MovedRow) and row.after == after)
    return told(rows[first + 1 :], dropped=first + 1)


def heartbeat(stage: Stage, name: str, epoch: int, **more: Any) -> Any:
    message = ConsumerGroupHeartbeatRequest(group_id="kitchen", member_id=name * 2, member_epoch=epoch, **more)
    return stage.ask(CONSUMER_GROUP_HEARTBEAT, 1, message, connection=name, client_id=name)


def test_story_names_the_static_member_that_took_the_leaders_place_as_leader() -> None:
    stage = Stage({"orders": 1})
    old = stage.consumer("old", instance_id="desk-1")
    stage.together(old)
    new = stage.consumer("new", instance_id="desk-1")
    new.join()
    stage.sleep(10)
    new.sync()
    new.commit({("orders", 0): 5})
    stage.sleep(0)
    view = stage.core.cluster.groups.find("kitchen").view()  # type: ignore[union-attr]
    name = f"desk-1#{new.member_id.removeprefix('desk-1-')[:4]}"
    lines = of(stage)
    assert (view.leader, len(view.members)) == (new.member_id, 1)
    assert lines[0].startswith(f"kitchen: Stable, generation 1, range, 1 member ({name} leads)")
    assert lines[-1] == f"{name} commits orders/0 = 5"


def test_story_names_no_client_that_took_a_place_by_order() -> None:
    stage = Stage({"orders": 1})
    stage.together(stage.consumer("old", instance_id="desk-1"))
    stage.rig.command("fence_instance", group="kitchen", instance="desk-1")
    line = next(line for line in of(stage) if "takes the place" in line)
    assert re.fullmatch(r"desk-1#\w+ takes the place of desk-1#\w+: static id desk-1, ordered by fence_instance", line), line


def test_story_says_what_a_replaced_static_member_keeps() -> None:
    stage = Stage({"orders": 2})
    old, ben = stage.consumer("old", instance_id="desk-1"), stage.consumer("ben")
    stage.together(old)
    new = stage.consumer("new", instance_id="desk-1")
    new.join()
    stage.sleep(10)
    new.sync()
    ben.join()
    stage.together(new, waiting=[ben])
    line = of(stage)[-1]
    assert "keeps orders/0" in line and "desk-1" in line and line.count("(new)") == 1, line


def test_story_does_not_call_partitions_new_whose_earlier_owner_is_not_in_the_rows() -> None:
    stage = TwoMembers()
    assert "anna#017f keeps orders/0,2, loses orders/1,3; ben#b604 gets orders/1,3 (new)" in of(stage)[-1]
    assert after_the_first(stage, "Stable")[-1].endswith(
        "anna#017f leads; anna#017f has orders/0,2; ben#b604 has orders/1,3; what they had before is not in these rows"
    )


def test_story_calls_no_commit_foreign_after_a_plan_that_is_not_in_the_rows() -> None:
    """The story calls no commit foreign after a large assignment, because the row of such an assignment has no details."""
    stage = TwoMembers()
    stage.ben.commit({("orders", 1): 1})
    stage.sleep(0)
    rows = list(stage.ring.rows)
    plans = [place for place, row in enumerate(rows) if isinstance(row, RequestRow) and getattr(row.message, "assignments", None)]
    asked = rows[plans[-1]].message  # type: ignore[attr-defined]
    slim = {name: getattr(asked, name) for name in ("group_id", "generation_id", "member_id")}
    rows[plans[-1]] = structs.replace(rows[plans[-1]], message=slim)
    assert told(rows)[-1] == "ben#b604 commits orders/1 = 1"


def test_story_says_of_no_other_member_that_its_end_was_ordered() -> None:
    """A command expires ben's session at the moment at which anna's expires by itself."""
    stage = TwoMembers()
    stage.rig.command("expire_member", group="kitchen", member=stage.ben.member_id)
    ordered = next(row for row in stage.ring.rows if isinstance(row, MemberRow) and row.what == "removed")
    anna = stage.anna.member_id
    itself = structs.replace(ordered, member_id=anna, client_id="anna", reason=f"session of {anna} expired after 45000 ms")
    found = told([*stage.ring.rows, itself])
    assert "ben#b604 is gone: its session expired, ordered by expire_member -> rebalance" in found
    assert "anna#017f is gone: its session expired, nothing was heard of it for 45000 ms" in found


def test_story_tells_a_coordinator_that_moves_from_a_group_that_is_gone() -> None:
    stage = TwoMembers()
    stage.rig.command("stop_node", node=1, clean=False)
    stage.sleep(1000)
    away = of(stage)
    assert "the group has no coordinator any more: partition 6 of __consumer_offsets left node 1" in away
    stage.rig.command("start_node", node=1)
    stage.sleep(1000)
    lines = of(stage)
    assert not [line for line in lines if "gone" in line], lines
    assert lines[-1] == (
        "the group has a coordinator again, Stable, generation 2, 2 members: node 1 loaded partition 6 of __consumer_offsets"
    )
    assert lines[0].startswith("kitchen: Stable, generation 2, range, 2 members (anna#017f leads)")


def test_story_knows_what_members_had_before_their_coordinator_moved_in_a_rebalance() -> None:
    stage = TwoMembers()
    cleo = stage.consumer("cleo")
    cleo.join()
    stage.rig.command("stop_node", node=1, clean=False)
    stage.rig.command("start_node", node=1)
    for member in (stage.anna, stage.ben, cleo):
        member.hang_up()
    cleo = stage.consumer("cleo")
    cleo.join()
    stage.together(stage.anna, stage.ben, waiting=[cleo])
    line = of(stage)[-1]
    assert "anna#017f keeps orders/0, gets orders/3 (new), loses orders/2; ben#b604 gets orders/2 (new), loses orders/1,3" in line


def test_story_tells_a_group_that_changes_its_type_from_one_that_is_gone() -> None:
    stage = Stage({"orders": 4}, {"group.consumer.assignment.interval.ms": 0})
    anna, ben = stage.consumer("anna"), stage.consumer("ben")
    stage.together(anna, ben)
    heartbeat(stage, "cleo", 0, subscribed_topic_names=["orders"], topic_partitions=[], rebalance_timeout_ms=10_000)
    changed = of(stage)
    assert changed[0].startswith("kitchen: Reconciling, generation 2, uniform, 3 members")
    anna.commit({("orders", 1): 1})  # The coordinator may have changed the line about anna in the classic assignment since the upgrade.
    stage.sleep(0)
    heartbeat(stage, "cleo", -1)
    lines = of(stage)
    assert not [line for line in lines if "NOT ITS OWN" in line]
    assert [line for line in lines if line.startswith("the group changes its type: ")] and "the group is gone" not in " ".join(lines)
    assert lines[0].startswith("kitchen: PreparingRebalance, generation 2, range, 2 members (anna#017f leads)")


def test_story_names_the_topic_that_a_member_unsubscribed_from() -> None:
    stage = Stage({"orders": 2, "bills": 1}, {"group.consumer.assignment.interval.ms": 0})
    epoch = heartbeat(stage, "cleo", 0, subscribed_topic_names=["orders"], topic_partitions=[], rebalance_timeout_ms=10_000).member_epoch
    heartbeat(stage, "cleo", epoch, subscribed_topic_names=["bills"])
    assert "cleo#cleo owes the broker orders/0, orders/1" in of(stage)
