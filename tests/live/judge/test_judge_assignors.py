"""Kafka's own classes compute target assignments of random groups, and groupmock must compute the same in the same order."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any, Final

import pytest
from assignor_stories import ShareStory, Story, Told, Topics

from groupmock.core.java.hash_maps import INTEGERS, HashKeys

from .oracle import NoOracle, ask, classpath

RELEASE: Final = "4.3.0"
PROGRAM: Final = Path(__file__).with_name("KafkaAssignors.java")
SEED: Final = int(os.environ.get("GROUPMOCK_JUDGE_SEED", "1"))
TARGETS: Final = int(os.environ.get("GROUPMOCK_JUDGE_TARGETS", "20000"))
MAPS: Final = 4000
SHARED: Final = 5000
Step = dict[str, Any]


@pytest.fixture(autouse=True, scope="module")
def oracle() -> None:
    try:
        classpath(RELEASE)
    except NoOracle as missing:
        pytest.fail(str(missing), pytrace=False)


class Drawn:
    """A random group history with the same steps as input for Kafka."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.crowd = dice.random() < 0.02
        self.same = dice.random() < 0.4
        self.ids: dict[str, bytes] = {}
        self.like = dice.randbytes(8) if dice.random() < 0.15 else None
        self.listed: Topics = {}
        for number in range(dice.choice((1, 2, 3, 6, 12, 30)) if not self.crowd else 2):
            self.grow(f"{dice.choice('abt')}{number}")
        self.names = [*self.listed, *(f"unknown{number}" for number in range(dice.choice((0, 0, 1, 15))))]
        self.common = self.some_names()
        self.regexes = {f"{number}.*": self.some_names() for number in range(3)} if dice.random() < 0.2 else {}
        self.story = Story(dice.choice(("uniform", "uniform", "uniform", "range")), dict(self.listed), self.regexes)
        self.asked: dict[str, Any] = {"assignor": self.story.assignor, "topics": self.topics(), "regexes": self.regexes}
        self.steps: list[Step] = []
        self.answers: list[Told] = []
        self.computed = 0

    def grow(self, name: str) -> None:
        """Add a new topic or new partitions of a topic to the random history. The topic ids of `like` histories fall into one bucket of
        any hash table that occurs."""
        new_id = self.like + bytes(a ^ b for a, b in zip(self.like, bytes(6) + b"\1\0", strict=True)) if self.like else b""
        topic_id = self.ids.get(name) or (
            new_id[:8] + (int.from_bytes(new_id[:8]) ^ len(self.ids) * 256 << 32).to_bytes(8) if self.like else self.dice.randbytes(16)
        )
        self.ids[name] = topic_id
        most = self.dice.choice((3, 3, 12, 60)) if not self.crowd else 1000
        self.listed[name] = (topic_id, self.listed.get(name, (b"", 0))[1] + self.dice.randint(1, most))

    def topics(self) -> list[list[Any]]:
        return [[name, topic_id.hex(), partitions] for name, (topic_id, partitions) in self.listed.items()]

    def some_names(self) -> list[str]:
        return self.dice.sample(self.names, self.dice.randint(min(1, len(self.names)), len(self.names)))

    def subscription(self) -> tuple[list[str], str | None]:
        """Draw topic names and a regex; with `same` these are the names and the regex of all members; names may be repeated."""
        if self.regexes and self.dice.random() < 0.8:
            return ([] if self.same or self.dice.random() < 0.5 else self.some_names()), self.dice.choice(
                list(self.regexes)[: 1 if self.same else 3]
            )
        names = self.common[:] if self.same else self.some_names()
        self.dice.shuffle(names)
        return names + names[: self.dice.choice((0, 0, 0, 20))], None

    def new_member(self) -> str:
        """Draw the id of a member. Some ids have the same hash code, because "Aa" and "BB" are equal for Java."""
        kind = self.dice.randrange(4)
        if kind == 0:
            return "".join(self.dice.choice(("Aa", "BB")) for _ in range(6))
        return (f"m{self.dice.randrange(10**6)}", f"{self.dice.getrandbits(128):032x}", f"consumer-\u00e9\U0001f600-{self.dice.random()}")[
            kind - 1
        ]

    def step(self, step: Step) -> None:
        """Apply a step to the history and to Kafka's input."""
        story, does = self.story, step["do"]
        if does == "leave":
            story.leave(step["member"])
        elif does == "topics":
            story.topics = dict(self.listed)
        elif does == "put":
            target = {bytes.fromhex(topic): tuple(partitions) for topic, partitions in step["target"]}
            story.put(step["member"], step["instance"], step["names"], target, step["regex"])
        else:
            story.heartbeat(step["member"], step["instance"], step["names"], step["regex"], computes=does == "heartbeat")
            self.computed += does == "heartbeat"
        self.steps.append(step)
        self.answers.append(story.told())

    def begin(self) -> None:
        """Add members with arbitrary target assignments; the partitions are sorted, because Kafka must not build too large a set of
        them."""
        members = [
            self.new_member() for _ in range(self.dice.choice((0, 0, 2, 5, 12, 13)) if not self.crowd else self.dice.choice((64, 128)))
        ]
        members = list(dict.fromkeys(members))
        shares: dict[str, dict[str, list[int]]] = {member: {} for member in members}
        fresh = self.dice.random() < 0.3
        for topic_id, partitions in self.listed.values():
            for partition in range(partitions):
                if members and not fresh and self.dice.random() < 0.8:
                    shares[self.dice.choice(members)].setdefault(topic_id.hex(), []).append(partition)
        if self.dice.random() < 0.2 and members:
            shares[members[0]][self.dice.randbytes(16).hex()] = [0, 1]
        for member, held in shares.items():
            names, regex = self.subscription()
            kept = Story(self.story.assignor, {})  # The history is kept in the form that a replay of the group's log would restore.
            instance = f"i{self.dice.randrange(10**6)}" if self.dice.random() < 0.3 else None
            kept.put(member, instance, names, {})
            target = [[topic, sorted(found)] for topic, found in held.items()]
            self.step({"do": "put", "member": member, "instance": instance, "names": names, "regex": regex, "target": target})

    def go_on(self) -> None:
        """Add one more step to the history."""
        dice, members = self.dice, self.story.members
        what = dice.random()
        if what < 0.15 and len(members) > 1:
            self.step({"do": "leave", "member": dice.choice(list(members))})
        elif what < 0.25:
            if len(self.listed) > 1 and dice.random() < 0.3:
                del self.listed[dice.choice(list(self.listed))]
            else:
                self.grow(dice.choice(list(self.listed)))
            self.step({"do": "topics", "topics": self.topics()})
        names, regex = self.subscription()
        known = dice.choice(list(members)) if members and dice.random() < 0.5 else None
        member, instance = (known, members[known].group_instance_id) if known else (self.new_member(), None)
        if not known and dice.random() < 0.4:
            statics = [one.group_instance_id for one in members.values() if one.group_instance_id]
            instance = dice.choice(statics) if statics and dice.random() < 0.5 else f"i{dice.randrange(10**6)}"
        if not known and member in members:
            return
        if known and dice.random() < 0.5:
            names, regex = list(members[known].topics), members[known].regex
        does = "join" if dice.random() < 0.15 else "heartbeat"
        self.step({"do": does, "member": member, "instance": instance, "names": names, "regex": regex})


def drawn(dice: random.Random) -> Drawn:
    story = Drawn(dice)
    story.begin()
    for _ in range(dice.randint(4, 12) if not story.crowd else 3):
        story.go_on()
    story.asked["steps"] = story.steps
    return story


def some_keys(dice: random.Random) -> tuple[int, list[str], list[int]]:
    """Return (capacity, actions, order) of keys that fall into few buckets, so that the table has trees, which lose their keys again."""
    capacity, stride = dice.choice((0, 1, 2, 3, 5, 16, 17, 64, 100)), dice.choice((1, 2, 16, 64, 64, 128, 256, 1024))
    keys = [number * stride + dice.choice((0, 0, 0, 1)) for number in range(dice.choice((5, 12, 30, 80)))]
    map_, done = HashKeys(INTEGERS, capacity), []
    for does in dice.choices("+?-", dice.choice(((6, 1, 1), (2, 2, 1), (2, 0, 3))), k=dice.choice((10, 40, 150))):
        key = dice.choice(keys)
        if does == "-" and key not in map_:
            does = "+"
        {"+": map_.put, "?": map_.compute, "-": map_.remove}[does](key)
        done.append(f"{does}{key}")
    return capacity, done, list(map_)


def test_orders_of_maps_are_javas() -> None:
    dice = random.Random(SEED)
    maps = [some_keys(dice) for _ in range(MAPS)]
    answers = ask(RELEASE, [{"capacity": capacity, "keys": " ".join(done)} for capacity, done, _ in maps], PROGRAM)
    wrong = [(made[:2], answer) for made, answer in zip(maps, answers, strict=True) if answer.get("order") != made[2]]
    assert not wrong, f"seed {SEED}: {len(wrong)} differ, the first: {wrong[0]}"


def test_targets_are_those_of_kafkas_assignors() -> None:
    dice = random.Random(SEED)
    stories: list[Drawn] = []
    while sum(story.computed for story in stories) < TARGETS:
        stories.append(drawn(dice))
    answers = ask(RELEASE, [story.asked for story in stories], PROGRAM)
    wrong = [
        f"seed {SEED}, story {number}, step {at} ({step}): Kafka {theirs}, ours {ours}"
        for number, (story, answer) in enumerate(zip(stories, answers, strict=True))
        for at, (step, ours, theirs) in enumerate(
            zip(story.steps, story.answers, answer.get("steps", [answer] * len(story.steps)), strict=True)
        )
        if ours != theirs
    ]
    print(f"seed {SEED}: {sum(story.computed for story in stories)} targets of {len(stories)} groups")
    assert not wrong, f"{len(wrong)} differ, the first: {wrong[0][:3000]}"


def shared(dice: random.Random) -> list[tuple[dict[str, Any], Told]]:
    """Play the history of a random share group, and return the question for Kafka and our answer for each of its targets."""
    topics: Topics = {
        f"{dice.choice('abt')}{number}": (dice.randbytes(16), dice.choice((1, 2, 3, 7, 16, 40))) for number in range(dice.randint(1, 6))
    }
    story, found = ShareStory(topics), []
    same = dice.random() < 0.6
    common = dice.sample(list(topics), dice.randint(1, len(topics)))
    story.initialize(*dice.sample(list(topics), dice.randint(0, len(topics))))
    for step in range(dice.choice((3, 8, 20, 45))):
        names = [*common] if same else dice.sample([*topics, "unknown"], dice.randint(1, len(topics)))
        before = {member: one.target for member, one in story.members.items()}
        if step and len(story.members) > 1 and dice.random() < 0.25:
            gone = dice.choice(list(story.members))
            story.leave(gone)
            member = dice.choice(list(story.members))
            names = list(story.members[member].topics) if dice.random() < 0.7 else names
        else:
            member = dice.choice((f"m{step}", f"{dice.getrandbits(128):032x}", "".join(dice.choice(("Aa", "BB")) for _ in range(6))))
        if dice.random() < 0.3:
            story.initialize(dice.choice(list(topics)))
        dice.shuffle(names)
        story.heartbeat(member, names)
        listed = {one: [*story.members[one].topics] for one in story.members} | {member: names}
        # The table may have grown behind the heartbeat, so that Kafka is asked with the members in the order before that.
        order = list(story.seen)
        members = [[one, listed[one], [[topic.hex(), list(held)] for topic, held in before.get(one, {}).items()]] for one in order]
        ours = [[one, [[topic.hex(), list(held)] for topic, held in story.members[one].target.items()]] for one in order]
        initialized = {topic.hex(): sorted(each) for topic, each in story.initialized.items()}
        listed_topics = [[name, topic_id.hex(), partitions] for name, (topic_id, partitions) in topics.items()]
        found.append(
            ({"share": True, "topics": listed_topics, "initialized": initialized, "alike": story.alike(), "members": members}, ours)
        )
    return found


def test_targets_of_share_groups_are_those_of_kafkas_assignor() -> None:
    dice = random.Random(SEED)
    asked: list[tuple[dict[str, Any], Told]] = []
    while len(asked) < SHARED:
        asked += shared(dice)
    answers = ask(RELEASE, [question for question, _ in asked], PROGRAM)
    wrong = [
        f"seed {SEED}, target {number} ({question}): Kafka {answer}, ours {ours}"
        for number, ((question, ours), answer) in enumerate(zip(asked, answers, strict=True))
        if answer.get("targets") != ours
    ]
    print(f"seed {SEED}: {len(asked)} targets of share groups")
    assert not wrong, f"{len(wrong)} differ, the first: {wrong[0][:3000]}"
