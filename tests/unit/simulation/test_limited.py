"""A seed that hangs, crashes or uses too much memory in its child process gets a verdict, and the other seeds are played."""

from __future__ import annotations

import os
import signal
import threading

from groupmock_clients.simulation.draw import draw
from groupmock_clients.simulation.limited import DIED, HUNG, SeedVerdict, judged, within_limits
from groupmock_clients.simulation.plan import SimulationPlan
from groupmock_clients.simulation.shrink import shrunk


def test_verdicts_come_in_order_and_are_those_of_the_seeds() -> None:
    verdicts = list(within_limits(range(4), "groups"))
    assert [each.seed for each in verdicts] == [0, 1, 2, 3]
    assert [each.digest for each in verdicts] == [judged(seed, "groups").digest for seed in range(4)]


def test_a_seed_that_hangs_is_ended_and_the_next_ones_are_played() -> None:
    def hangs(seed: int, kind: str | None) -> SeedVerdict:
        while seed == 2:
            pass
        if seed == 3:
            threading.Event().wait()
        return SeedVerdict(seed=seed)

    verdicts = list(within_limits(range(5), seconds=0.2, judge=hangs))
    assert [each.seed for each in verdicts] == list(range(5))
    assert [each.judge for each in verdicts] == [None, None, HUNG, HUNG, None] and verdicts[2].text == "no end within 0.2 s"


def test_a_seed_that_dies_says_how() -> None:
    def dies(seed: int, kind: str | None) -> SeedVerdict:
        if seed == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if seed == 1:
            os._exit(7)
        return SeedVerdict(seed=seed)

    verdicts = list(within_limits(range(3), judge=dies))
    assert [(each.judge, each.text) for each in verdicts] == [
        (DIED, "the process was ended by signal 9"),
        (DIED, "the process ended with 7"),
        (None, None),
    ]


def test_memory_has_a_limit() -> None:
    def eats(seed: int, kind: str | None) -> SeedVerdict:
        try:
            kept = bytearray(400 * 1024 * 1024)
        except MemoryError:
            return SeedVerdict(seed=seed, judge="memory")
        return SeedVerdict(seed=seed, text=str(len(kept)))

    assert [each.judge for each in within_limits([1], megabytes=64, judge=eats)] == ["memory"]


def test_shrinking_leaves_what_is_needed() -> None:
    plan = draw(5, "mixed")
    plan.steps[3:3] = [["produce", "t0", 0, 1]]
    plan.steps += [["commit", plan.clients[0].name]]

    def fails(smaller: SimulationPlan) -> bool:
        names = [step[0] for step in smaller.steps]
        return "produce" in names and "commit" in names

    small = shrunk(plan, fails)
    assert sorted(step[0] for step in small.steps) == ["commit", "produce"]
    assert len(small.clients) == 1 and small.nodes == 1 and not small.settings
