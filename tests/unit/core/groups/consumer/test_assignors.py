"""Kafka 4.3.0's coordinator computed these 1,167 assignments in 180 groups (tests/data/assignors.jsonl.gz; CG-100 to CG-108).

A story is one group. After each step: the target of every member in ConsumerGroupDescribe, members in the order of that answer. `heartbeat`
is the member whose heartbeat computed it, if it is not the one that the step is of. Topics of a target were sorted by name.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any, Final

from assignor_stories import Story, Subscriber, targets
from cases import for_each

from groupmock.core.groups.consumer.assignors import ASSIGNORS
from groupmock.core.groups.consumer.orders import MemberTable
from groupmock.core.java.hashes import java_hash, spread

Row = dict[str, Any]
DATA: Final = Path(__file__).parents[4] / "data" / "assignors.jsonl.gz"
ROWS: Final[list[Row]] = [json.loads(line) for line in gzip.decompress(DATA.read_bytes()).splitlines()]
ONE: Final = {"t": (bytes(16), 4)}
ROUND: Final = {"t": (bytes(16), 64 * 12), "u": (bytes(15) + b"\1", 1)}


def step_into(story: Story, step: Row) -> None:
    """Play a step and return the change and the heartbeat that computed the target assignment."""
    if step["do"] == "leave":
        story.leave(step["member"])
    elif step["do"] == "grow":
        story.topics[step["topic"]] = (story.topics[step["topic"]][0], step["partitions"])
    member = step.get("heartbeat") or step["member"]
    known = story.members.get(member)
    instance = known.group_instance_id if known else step["instance"]
    story.heartbeat(member, instance, step.get("names") or (known.topics if known else ()))


def targets_of(story: Story) -> dict[str, dict[str, list[int]]]:
    names = {topic_id: name for name, (topic_id, _) in story.topics.items()}
    return {
        member: {names[topic]: sorted(held) for topic, held in sorted(story.members[member].target.items(), key=lambda at: names[at[0]])}
        for member in story.table
    }


@for_each("row", ROWS, ids=[row["id"] for row in ROWS])
def test_targets_and_the_order_of_members_are_those_of_the_broker(row: Row) -> None:
    topics = {name: (base64.urlsafe_b64decode(of["id"] + "=="), of["partitions"]) for name, of in row["topics"].items()}
    story = Story(row["assignor"], topics)
    for number, step in enumerate(row["steps"]):
        step_into(story, step)
        assert list(targets_of(story).items()) == list(step["target"].items()), f"after step {number}"


def test_the_stories_hold_every_assignor_and_kind_of_step() -> None:
    assert Counter((row["assignor"], row["subscriptions"]) for row in ROWS) == {
        ("uniform", "same"): 70,
        ("uniform", "different"): 70,
        ("range", "same"): 20,
        ("range", "different"): 20,
    }
    assert sum(len(row["steps"]) for row in ROWS) == 1167
    assert {step["do"] for row in ROWS for step in row["steps"]} == {"join", "leave", "names", "grow"}


def test_names_of_assignors_are_in_kafkas_order() -> None:
    assert list(ASSIGNORS) == ["uniform", "range"]


def test_a_target_with_the_same_partitions_is_the_old_one() -> None:
    """The stored order of partitions stays, whatever order the assignor would choose (CG-108)."""
    odd = {bytes(16): (3, 2, 1, 0)}
    for assignor in ASSIGNORS:
        assert targets(assignor, [Subscriber("a", None, ["t"], odd)], ONE, alike=True)["a"] is odd


def test_nobody_and_nothing() -> None:
    assert targets("uniform", [], ONE, alike=True) == {}
    for assignor in ASSIGNORS:
        assert targets(assignor, [Subscriber("a", None, ["unknown"], {bytes(16): (0,)})], ONE, alike=True) == {"a": {}}


@for_each("assignor", list(ASSIGNORS))
def test_a_static_member_that_returns_has_the_target_of_its_old_self(assignor: str) -> None:
    story = Story(assignor, dict(ONE))
    story.heartbeat("old", "i", ["t"])
    story.heartbeat("other", None, ["t"])
    held = dict(story.members["old"].target)
    story.heartbeat("new", "i", ["t"])
    assert (list(story.members), story.members["new"].target) == (["other", "new"], held)


@for_each(("alike", "given"), [(True, 0), (False, 2)])
def test_what_a_member_gives_up_depends_on_whether_all_subscribe_alike(alike: bool, given: int) -> None:
    """If all members subscribe to the same topics, a member keeps the first partitions of its set. Else: it gives its highest partition
    (CG-103)."""
    held = {bytes(16): (2, 1, 0)}
    pair = [Subscriber(member, None, ["t"], target) for member, target in (("a", held), ("b", {}))]
    assert targets("uniform", pair, {"t": (bytes(16), 3)}, alike=alike)["b"] == {bytes(16): (given,)}


def test_partitions_dealt_round_to_64_members_lie_in_one_tree() -> None:
    """The twelve partitions are equal in their low six bits, so Kafka's hash set orders them as a bucket that became a tree."""
    story = Story("uniform", dict(ROUND))
    for number in range(64):
        story.heartbeat(f"m{number}", None, ["t", "u"] if number == 63 else ["t"], computes=number == 63)
    dealt = {tuple(part // 64 for part in one.target[bytes(16)]) for one in story.members.values()}
    assert dealt == {(3, 0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11)}


def test_a_table_keeps_its_order_as_members_come_and_go() -> None:
    dice, table, came = random.Random(7), MemberTable(), list[str]()
    for number in range(300):
        if came and dice.random() < 0.4:
            gone = came.pop(dice.randrange(len(came)))
            table.discard(gone)
        came.append(f"m{number}")
        table.add(came[-1])
        slots = {member_id: table.slot(java_hash(member_id)) for member_id in came}
        latest_first = came[::-1]
        assert list(table) == sorted(latest_first, key=slots.__getitem__)
        assert list(table.spreads()) == [(member_id, spread(member_id)) for member_id in table]
    assert (len(table), "m0" in table) == (len(came), "m0" in came)
