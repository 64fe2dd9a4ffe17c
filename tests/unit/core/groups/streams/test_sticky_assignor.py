"""Targets of streams groups are those that Apache Kafka computed: 227 targets of 4.4.0 and 77 of 4.3.0."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final

import pytest
from assignor_stories import of_subtopologies
from cases import for_each

from groupmock.core.groups.consumer.assignors import Effort
from groupmock.core.groups.streams.sticky_assignor import Assigned, Seen, assign
from groupmock.core.work import at_once

DATA: Final = Path(__file__).resolve().parents[4] / "data" / "streams_assignments.json.gz"
STORIES: Final[dict[str, list[dict[str, Any]]]] = json.loads(gzip.decompress(DATA.read_bytes()))
ROWS: Final = [(release, story) for release in ("4.4.0", "4.3.0") for story in STORIES[release]]
Told = dict[str, dict[str, dict[str, list[int]]]]
FIRST_CANDIDATE: Final = [
    ("AaAaAaBBBBBB", "0", {0}, {2}),
    ("3", "0", {3}, {4}),
    ("d06caba25266ac89724ad408de1f35fb", "2", {2}, {0, 1, 3, 4}),
    ("6", "1", {4}, {0, 1, 2, 3}),
    ("f143a03fa4a75a93b4f2ee565bc5dd9c", "1", {1}, set()),
    ("186ac03fa37692196e17b1549dc2e33e", "0", set(), set()),
]
"""The members of a group with 5 tasks and 3 standbys, whose targets of 4.3.0 and 4.4.0 differ because of the first candidate. Its standby
task 3 is computed by Kafka's class."""


def seen(step: dict[str, Any], release: str) -> list[Seen]:
    """Return the members of a recorded step. Kafka 4.3 ignores offsets of tasks."""
    found = []
    for member_id in step["order"]:
        previous = step["previous"][member_id]
        reported = step["task_offsets"].get(member_id, ()) if release != "4.3.0" else ()
        offsets = {(subtopology, number): offset for subtopology, number, offset in reported}
        active, standby = of_subtopologies(previous["active"]), of_subtopologies(previous["standby"])
        found.append(Seen(member_id, step["processes"][member_id], active, standby, offsets))
    return found


def told(targets: dict[str, Assigned]) -> Told:
    return {
        member_id: {role: {each: list(numbers) for each, numbers in tasks.items()} for role, tasks in target._asdict().items()}
        for member_id, target in targets.items()
    }


def test_the_recorded_targets_of_streams_groups_are_complete() -> None:
    assert [sum(len(story["steps"]) for story in STORIES[release]) for release in ("4.4.0", "4.3.0")] == [227, 77]


@for_each("release, story", ROWS, ids=range(len(ROWS)))
def test_targets_of_streams_groups_are_those_that_kafka_computed(release: str, story: dict[str, Any]) -> None:
    for at, step in enumerate(story["steps"]):
        members, effort = seen(step, release), Effort()
        steps = assign(members, story["tasks"], story["stateful"], step["standbys"], effort, before_4_4=release == "4.3.0")
        assert told(at_once(steps)) == step["target"], f"{release}, step {at}: {step['step']}"


@pytest.mark.parametrize("before_4_4, member", [(True, "f143a03fa4a75a93b4f2ee565bc5dd9c"), (False, "6")])
def test_a_standby_task_goes_to_a_later_candidate_since_4_4(before_4_4: bool, member: str) -> None:
    """The process of the first former standby member of task 3 has the task, and the member `6` had a standby task 3, too."""
    members = [
        Seen(member_id, process, [("0", number) for number in active], [("0", number) for number in standby], {})
        for member_id, process, active, standby in FIRST_CANDIDATE
    ]
    targets = at_once(assign(members, {"0": 5}, ["0"], 3, Effort(), before_4_4=before_4_4))
    among = ("6", "f143a03fa4a75a93b4f2ee565bc5dd9c")
    assert [member_id for member_id in among if 3 in targets[member_id].standby.get("0", ())] == [member]


def test_a_group_without_members_has_no_targets() -> None:
    assert at_once(assign([], {"0": 5}, ["0"], 1, Effort())) == {}


def test_targets_of_a_large_streams_group_are_computed_in_steps() -> None:
    members = [Seen(f"m{number}", f"p{number // 2}", (), (), {}) for number in range(500)]
    tasks = dict.fromkeys(map(str, range(20)), 100)
    steps = list(assign(members, tasks, tasks, 1, Effort()))
    assert len(steps) > 60, "one step is a thousand units of work, and the targets have 4,000 tasks"
