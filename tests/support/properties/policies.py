"""Random histories of a group led by the cooperative policy keep every invariant after every step.

Case: `design` (1, 2, 3), `steps`: [rule, its values]; the first one is `start`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from found import Case, Property
from hypothesis import strategies as st
from policy_judge import Judge
from policy_world import Process, World
from recorded import RecordedMachine, begins, step

from groupmock_clients.cooperative.balance import Partition
from groupmock_clients.cooperative.policy import Rules

DELAY, INTERVAL = 1000, 300
LIVELOCK = 400
NAMES = ("a", "b", "c", "d", "e", "app")
TIMES = st.sampled_from([0, 1, 50, 299, 300, 500, 999, 1000, 1001, 2500])
PLACES = st.frozensets(st.integers(0, 11), max_size=3).map(sorted)


class PolicyMachine(RecordedMachine):
    """Tests one cooperative design, which a subclass sets."""

    proves = Property("policy", lambda case: _retaken(case))
    design: Literal[1, 2, 3] = 1

    def __init_subclass__(cls) -> None:
        cls.constants = {"design": cls.design}

    @begins(
        seed=st.integers(0, 2**32),
        people=st.integers(1, 8),
        partitions=st.integers(1, 24),
        other=st.sampled_from([0, 0, 0, 5]),
        moves=st.integers(1, 4),
        delay=st.sampled_from([DELAY, DELAY, DELAY, 0]),
        first=st.sampled_from(["assign", "assign", "wait"]),
    )
    def start(
        self, seed: int, people: int, partitions: int, other: int, moves: int, delay: int, first: Literal["assign", "wait"]
    ) -> None:  # fmt: skip
        rules = Rules(self.design, delay_ms=delay, max_moves=moves, move_interval_ms=INTERVAL, first=first)
        self.world = World(rules, seed, {"T": partitions} | ({"U": other} if other else {}))
        self.judge = Judge(self.world)
        for place in range(people):
            self.world.join(NAMES[place % len(NAMES)], self._topics(place))
        self._round((), 0)

    def _topics(self, place: int) -> tuple[str, ...]:
        """Return the topics of a member. With two topics, some members read both and some only one."""
        return ("T",) if "U" not in self.world.counts else (("T", "U"), ("T",), ("U",))[place % 3]

    def _round(self, losing: Sequence[int], took: int) -> None:
        self.sound = False  # `sound` stays false if the rebalance fails, so that the end of a failed run is not checked.
        self.judge.round(self.world.round(frozenset(losing), took))
        self.sound = True

    def _catch_up(self) -> None:
        rounds = 0
        while self.world.pending:
            self._round((), 0)
            rounds += 1
            assert rounds < LIVELOCK, "I3: rounds without an end"

    def _to_rest(self) -> None:
        self.sound = False
        rounds = 0
        while True:
            self._catch_up()
            if self.world.next_timer() is None:
                break
            self.world.fire()
            rounds += 1
            assert rounds < LIVELOCK, "I3: timers without an end"
        if self.world.group:
            self.judge.rest()
        self.sound = True

    @step(name=st.sampled_from(NAMES), place=st.integers(0, 2))
    def join(self, name: str, place: int) -> None:
        if len(self.world.group) < 12:
            self.world.join(name, self._topics(place))

    @step(lambda self: self.world.group, place=st.integers(0, 11))
    def die(self, place: int) -> None:
        self.world.remove(self.world.group[place % len(self.world.group)])

    @step(lambda self: self.world.group, place=st.integers(0, 11))
    def expel(self, place: int) -> None:
        self.world.expel(self.world.group[place % len(self.world.group)])

    @step(lambda self: self.world.zombies, place=st.integers(0, 3), forgets=st.booleans())
    def come_back(self, place: int, forgets: bool) -> None:
        self.world.rejoin(self.world.zombies[place % len(self.world.zombies)], forgets)

    @step(
        lambda self: self.world.group and "U" in self.world.counts, place=st.integers(0, 11), which=st.integers(0, 2), drops=st.booleans()
    )
    def subscribe(self, place: int, which: int, drops: bool) -> None:
        self.world.subscribe(self.world.group[place % len(self.world.group)], self._topics(which), drops)

    @step(lambda self: sum(self.world.counts.values()) < 40, more=st.integers(1, 3))
    def grow(self, more: int) -> None:
        self.world.grow("T", more)

    @step(lambda self: self.world.pending, losing=PLACES, took=TIMES)
    def bad_round(self, losing: list[int], took: int) -> None:
        self._round(losing, took)

    @step(lambda self: self.world.pending)
    def one_round(self) -> None:
        self._round((), 0)

    @step(passed=TIMES)
    def wait(self, passed: int) -> None:
        """Advance the clock; rebalances begin as timers fire."""
        end = self.world.now + passed
        self._catch_up()
        while (due := self.world.next_timer()) is not None and due <= end:
            self.world.fire()
            self._catch_up()
        self.world.now = max(self.world.now, end)

    @step(lambda self: len(self.world.group) > 2, first=st.integers(0, 11), second=st.integers(0, 11), gap=st.integers(1, 900))
    def second_loss(self, first: int, second: int, gap: int) -> None:
        """Remove a member, and another member while the partitions of the first are withheld."""
        self._catch_up()
        self.die(first)
        self.wait(gap)
        self.die(second)
        self._catch_up()

    @step()
    def left_alone(self) -> None:
        self._to_rest()

    @step(
        lambda self: len(self.world.group) > 1 and self.world.rules.patience_ms and self.design > 1,
        places=st.lists(st.integers(0, 10), min_size=1, max_size=4),
        gaps=st.lists(st.integers(0, 120), min_size=8, max_size=8),
    )
    def bounce(self, places: list[int], gaps: list[int]) -> None:
        """Check invariant I5: members other than the leader leave and return in time."""
        self._to_rest()
        self.wait(2500)  # In this time the leader forgets the members that left earlier.
        world = self.world
        if len({process.topics for process in world.group}) > 1 or len(world.group) < 2:
            return
        followers = [process for process in world.group if process is not world.leader]
        gone = [followers[place] for place in sorted({place % len(followers) for place in places})]
        before = {process: set(process.owned) for process in world.group}
        for process, gap in zip(gone, gaps[:4], strict=False):
            world.remove(process)
            self.wait(gap)
        back = []
        for process, gap in zip(gone, gaps[4:], strict=False):
            back.append((process, world.join(process.name, process.topics)))
            self.wait(gap)
        self._to_rest()
        self._judge_bounce(before, back)

    def _judge_bounce(self, before: dict[Process, set[Partition]], back: list[tuple[Process, Process]]) -> None:
        self.sound = False
        for process in set(before) - {was for was, _ in back}:
            assert process.owned == before[process], f"I5: {process.name} had {before[process]} and has {process.owned}"
        for name in {was.name for was, _ in back}:
            had = sorted(sorted(before[was]) for was, _ in back if was.name == name)
            has = sorted(sorted(now.owned) for was, now in back if was.name == name)
            assert had == has, f"I5: {name} had {had} and got {has}"
        self.sound = True

    def teardown(self) -> None:
        if getattr(self, "sound", False):
            self._to_rest()


class DesignOne(PolicyMachine):
    design = 1


class DesignTwo(PolicyMachine):
    design = 2


class DesignThree(PolicyMachine):
    design = 3


MACHINES = (DesignOne, DesignTwo, DesignThree)
POLICY = PolicyMachine.proves


def _retaken(case: Case) -> None:
    machines = {machine.design: machine for machine in MACHINES}
    machines[case["design"]](retaken=True).retake(case)
