"""Targets of share groups are those that Apache Kafka 4.4.0 computed: 923 targets of 120 groups, with the order of members."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any, Final

from assignor_stories import ShareStory, Topics
from cases import for_each
from share_world import ShareWorld

from groupmock.core.groups.consumer.assignors import Effort, Member, Subscription, spec
from groupmock.core.groups.share import simple_assignor

DATA: Final = Path(__file__).resolve().parents[4] / "data" / "share_assignments.json.gz"
ROWS: Final[list[dict[str, Any]]] = json.loads(gzip.decompress(DATA.read_bytes()))["rows"]


def test_the_recorded_targets_are_complete() -> None:
    assert sum(len(row["steps"]) for row in ROWS) == 923


@for_each("row", ROWS, ids=lambda row: row["id"])
def test_targets_of_share_groups_are_those_that_kafka_computed(row: dict[str, Any]) -> None:
    topics: Topics = {name: (base64.urlsafe_b64decode(each["id"] + "=="), each["partitions"]) for name, each in row["topics"].items()}
    names = {topic_id: name for name, (topic_id, _) in topics.items()}
    story = ShareStory(topics)
    for step in row["steps"]:
        if step["do"] == "leave":
            story.leave(step["member"])
            story.compute()
        else:
            story.initialize(*(name for name in step["names"] if name in topics))
            story.heartbeat(step["member"], step["names"])
        told = {}
        for member in story.table:
            one = story.members[member]
            told[member] = {names[topic]: sorted(held) for topic, held in one.target.items() if names[topic] in one.topics}
        assert told == step["target"], step
        assert list(told) == list(step["target"]), step


@for_each("row", ROWS[1::3], ids=lambda row: row["id"])
def test_a_share_group_shows_the_targets_that_kafka_showed(row: dict[str, Any]) -> None:
    """Play a third of these groups with heartbeats, which takes longer. Kafka's rows show what members had when all had sent one more."""
    world = ShareWorld(topics=False)
    for name, each in row["topics"].items():
        topic_id = base64.urlsafe_b64decode(each["id"] + "==")
        world.topics.add(world.turn(), name, [[1]] * each["partitions"], {}, topic_id)
    for number, step in enumerate(row["steps"]):
        if step["do"] == "leave":
            world.leave(step["member"])
            world.beat(step["heartbeat"])
        elif step["do"] == "join":
            world.join(step["member"], *step["names"])
        else:
            world.beat(step["member"], subscribed_topic_names=step["names"])
        if not number:  # Kafka had initialised the partitions before the first member's next heartbeat.
            world.settle(step["member"])
        for member in list(world.share_group.table):
            world.beat(member)
        state, group_epoch, assignment_epoch, members = world.state()
        assert (state, group_epoch, assignment_epoch) == ("Stable", step["group_epoch"], step["group_epoch"]), step
        assert {member: has for member, (_, has) in members.items()} == step["target"], step
        assert list(members) == list(step["target"]), step
        world.share_group.invariants()


def test_a_target_of_a_large_share_group_is_computed_in_steps() -> None:
    topic, effort = bytes(16), Effort()
    members = [Member(f"m{number}", None, Subscription((topic,), 1), {}) for number in range(100)]
    steps = simple_assignor.assign({topic: range(3000)}, spec.Group(members, True, {topic: 3000}), effort)
    assert len(list(steps)) > 3, "one step is a thousand units of work"
