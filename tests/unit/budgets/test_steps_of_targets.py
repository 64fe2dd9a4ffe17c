"""Each step of a target assignment's computation, and of a member towards its target, stays short in a group of any size, counted in
executed lines."""

from __future__ import annotations

import random
from typing import Any, Final

import pytest
from consumer_world import ConsumerWorld
from streams_world import StreamsWorld, subtopology, topology

from groupmock.core.groups.consumer import membership, targets
from groupmock.core.groups.consumer.assignors import Steps
from groupmock.core.groups.streams import targets as streams_targets
from tools.budgets.meter import STEPS_PER_MS, counted

MEMBERS: Final = 120
LINES: Final = STEPS_PER_MS
"""Number of lines that take a millisecond. The loop has slices of two, and a step may begin at the end of a slice."""
BYTES: Final = 4 * 1024 * 1024
NEVER_MS: Final = 10**9
DONE: Final = object()


def number_of(steps: Steps[Any]) -> int:
    """Do all steps, check the budget of each, and return their number."""
    done: list[bool] = []
    while not any(done):
        cost = counted(lambda: done.append(next(steps, DONE) is DONE), LINES, BYTES)
        assert not cost.over, f"step {len(done)}: more than {LINES} lines or {BYTES} bytes ({cost.steps}, {cost.bytes})"
    return len(done)


class Crowd:
    """A group in which only the first heartbeat computes a target assignment."""

    def __init__(self, assignor: str, topics: int, partitions: int, named: int) -> None:
        self.world = ConsumerWorld(topics=False, group_consumer_assignment_interval_ms=NEVER_MS)
        self.names = [f"topic-{number}" for number in range(topics)]
        for name in self.names:
            self.world.topic(name, partitions)
        self._assignor, self._named, self._dice = assignor, named, random.Random(5)

    def join(self, count: int) -> None:
        have = 0 if self.world.group is None else len(self.world.group.members)
        for number in range(have, have + count):
            self.world.join(f"m{number}", *self._dice.sample(self.names, self._named), server_assignor=self._assignor)

    def compute(self) -> int:
        """Compute the target assignment of all members, check the budget of each step, and return the number of steps."""
        group = self.world.group
        assert group is not None
        taken = number_of(targets.compute(self.world.turn(), group, group.members["m0"], None, None, None))
        assert group.targets.keys() == group.members.keys()
        return taken


@pytest.mark.parametrize("assignor", ["uniform", "range"])
@pytest.mark.parametrize(("topics", "partitions", "named"), [(1, 2 * MEMBERS, 1), (200, 4, 100), (200, 4, 200)])
def test_no_step_of_a_target_costs_more_than_its_budget(assignor: str, topics: int, partitions: int, named: int) -> None:
    """The test computes the first target of all members, and another one after some members have joined."""
    crowd = Crowd(assignor, topics, partitions, named)
    crowd.join(MEMBERS)
    first = crowd.compute()
    crowd.join(MEMBERS // 10)
    assert min(first, crowd.compute()) > 1, "it was done in one step"


@pytest.mark.parametrize("standbys", [0, 1])
def test_no_step_of_the_target_of_a_streams_group_costs_more_than_its_budget(standbys: int) -> None:
    """The test computes the first target of all members, and another one after some members have joined."""
    settings = {"group_streams_assignment_interval_ms": NEVER_MS, "group_streams_num_standby_replicas": standbys}
    world = StreamsWorld(topics=False, **settings)
    for name in ("read", "kept"):
        world.topic(name, 2 * MEMBERS)
    state = topology(subtopology("0", "read", state=["kept"]), subtopology("1", "read"))
    taken = []
    for last in (MEMBERS, MEMBERS + MEMBERS // 10):
        for number in range(len(world.epochs), last):
            world.join(f"m{number}", state)
        group = world.streams_group
        taken.append(number_of(streams_targets.compute(world.turn(), group, group.members["m0"])))
        assert sum(len(target.active) for target in group.targets.values()) == 4 * MEMBERS
        assert sum(len(target.standby) for target in group.targets.values()) == 2 * MEMBERS * standbys
    assert min(taken) > 1, "it was done in one step"


def test_no_step_of_a_member_that_had_all_partitions_costs_more_than_its_budget() -> None:
    """The first member of a large group joins alone, gets all partitions, and has to give up nearly all of them."""
    world = ConsumerWorld(topics=False)
    world.topic("topic", 4_000)
    world.join("A", "topic")
    world.join("B", "topic")
    group = world.group
    assert group is not None
    member = group.members["A"]
    revoked = number_of(membership.advance(world.turn(), group, member, frozenset(member.assigned), False))
    assert (revoked, len(member.revoking)) == (4, 2_000)
    assert number_of(membership.advance(world.turn(), group, member, frozenset(member.assigned), False)) == 4
    assert (len(member.assigned), len(member.revoking)) == (2_000, 0)
