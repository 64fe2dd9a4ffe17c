"""Kafka's own assignor `sticky` computes targets of random streams groups, and groupmock must compute the same."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any, Final

from assignor_stories import by_subtopology, of_subtopologies

from groupmock.core.groups.consumer.assignors import Effort
from groupmock.core.groups.streams.sticky_assignor import Seen, assign
from groupmock.core.groups.streams.tasks import Task
from groupmock.core.work import at_once

from .oracle import ask

PROGRAM: Final = Path(__file__).with_name("KafkaTasks.java")
SEED: Final = int(os.environ.get("GROUPMOCK_JUDGE_SEED", "1"))
TARGETS: Final = int(os.environ.get("GROUPMOCK_JUDGE_TASKS", "5000"))
Asked = dict[str, Any]
Told = dict[str, list[dict[str, list[int]]]]


class DrawnGroup:
    """A random history of a streams group. `asked` has a question for Kafka and our answer for each target of the history."""

    def __init__(self, dice: random.Random, release: str) -> None:
        self.dice, self.release = dice, release
        self.tasks = {self.name(number): dice.choice((1, 2, 3, 5, 8, 13, 40)) for number in range(dice.choice((1, 1, 2, 3, 5, 12)))}
        self.stateful = [each for each in self.tasks if dice.random() < 0.7]
        self.standbys = dice.choice((0, 1, 1, 2, 3))
        self.processes = [self.name(number) for number in range(dice.choice((1, 2, 3, 6, 20, 70)))]
        self.members: dict[str, Seen] = {}
        self.asked: list[tuple[Asked, Told]] = []

    def name(self, number: int) -> str:
        """Return a subtopology, process or member id: short, random, or with the same hash as others."""
        dice = self.dice
        return dice.choice((f"{number}", f"{dice.getrandbits(128):032x}", "".join(dice.choice(("Aa", "BB")) for _ in range(6))))

    def play(self) -> None:
        crowd = self.dice.random() < 0.1
        for number in range(self.dice.choice((25, 70)) if crowd else self.dice.choice((3, 8, 14, 30))):
            self.step(number)
            if not crowd or self.dice.random() < 0.15:
                self.compute()

    def step(self, number: int) -> None:
        """Let a member join, leave, move to another process or report offsets, or let one have other tasks than its target."""
        dice, members = self.dice, self.members
        known = dice.choice(list(members)) if members else None
        what = dice.random()
        if known is None or what < 0.5:
            member_id = self.name(number)
            members[member_id] = Seen(member_id, dice.choice(self.processes), (), (), self.offsets())
        elif what < 0.65 and len(members) > 1:
            del members[known]
        elif what < 0.75:
            members[known] = members[known]._replace(process_id=dice.choice(self.processes))
        elif what < 0.85:
            members[known] = members[known]._replace(offsets=self.offsets())
        elif what < 0.95:
            seen = members[known]
            members[known] = seen._replace(active=self.some(seen.active), standby=self.some(seen.standby))
        else:
            self.standbys = dice.choice((0, 1, 2, 3))

    def some(self, tasks: Any) -> list[Task]:
        """Return some of these tasks, and sometimes tasks that others have or that do not exist."""
        kept = [task for task in tasks if self.dice.random() < 0.7]
        if self.dice.random() < 0.3:
            kept += [(self.dice.choice([*self.tasks, "unknown"]), self.dice.randrange(45)) for _ in range(3)]
        return list(dict.fromkeys(kept))

    def offsets(self) -> dict[Task, int]:
        if self.release == "4.3.0" or self.dice.random() < 0.6:
            return {}
        named = [(self.dice.choice(list(self.tasks)), self.dice.randrange(10)) for _ in range(self.dice.randint(1, 12))]
        return {task: self.dice.choice((0, 0, 5, 100, 2**40, self.dice.randrange(1000))) for task in named}

    def compute(self) -> None:
        """Compute the target of each member, which then has the tasks of its target."""
        seen = list(self.members.values())
        before_4_4 = self.release == "4.3.0"
        computed = at_once(assign(seen, self.tasks, self.stateful, self.standbys, Effort(), before_4_4=before_4_4))
        told = {member_id: [listed(target.active), listed(target.standby)] for member_id, target in computed.items()}
        members = [
            [each.member_id, each.process_id, listed(by_subtopology(each.active)), listed(by_subtopology(each.standby)),
             [[subtopology, number, offset] for (subtopology, number), offset in each.offsets.items()]]
            for each in seen
        ]  # fmt: skip
        question = {"tasks": self.tasks, "stateful": self.stateful, "standbys": self.standbys, "members": members}
        self.asked.append((question | {"tasks": dict(self.tasks)}, told))
        for member_id, target in computed.items():
            active, standby = of_subtopologies(target.active), of_subtopologies(target.standby)
            self.members[member_id] = self.members[member_id]._replace(active=active, standby=standby)


def listed(tasks: dict[str, tuple[int, ...]]) -> dict[str, list[int]]:
    return {subtopology: list(numbers) for subtopology, numbers in tasks.items()}


def test_targets_of_streams_groups_are_those_of_kafkas_assignor(streams_release: str) -> None:
    dice = random.Random(SEED)
    asked: list[tuple[Asked, Told]] = []
    while len(asked) < TARGETS:
        group = DrawnGroup(dice, streams_release)
        group.play()
        asked += group.asked
    answers = ask(streams_release, [question for question, _ in asked], PROGRAM)
    wrong = [
        f"seed {SEED}, target {number} ({question}): Kafka {answer}, ours {ours}"
        for number, ((question, ours), answer) in enumerate(zip(asked, answers, strict=True))
        if answer.get("targets") != ours
    ]
    print(f"seed {SEED}: {len(asked)} targets of streams groups")
    assert not wrong, f"{len(wrong)} differ, the first: {wrong[0][:3000]}"
