"""Play one seed: draw the plan of a run, judge the run, and replay its journal."""

from __future__ import annotations

from io import BytesIO
from typing import Final

import msgspec

from groupmock.rig.replay import CannotReplay, replay_of
from groupmock.story.sentences import at, sentence

from .draw import draw
from .judges.findings import Finding
from .plan import SimulationPlan
from .play import Playing

REPLAYED_EVERY: Final = 4
"""One of this many seeds is also replayed from its journal, and must give the same rows."""
SAMPLED_EVERY: Final = 32
"""One of this many seeds has every request's calls counted and every answer encoded once more."""
STORY_ROWS: Final = 30


class Outcome(msgspec.Struct, kw_only=True):
    """The result of a simulated run, with its size and its finding. `digest`: of its journal's bytes; `rows`: of it; `virtual_ms`: how
    long it lasted; `requests` that were handled; `replayed`: was it, and did it give the same; `largest`: cost -> (most, API key);
    `longest_turn`: requests in one turn of the loop; `story`: the last rows before a finding, as sentences."""

    plan: SimulationPlan
    finding: Finding | None
    digest: str
    rows: int
    requests: int
    virtual_ms: float
    replayed: bool
    largest: dict[str, tuple[int, int]]
    longest_turn: int
    story: list[str]


def simulate(seed: int, kind: str | None = None) -> Outcome:
    """Draw the plan of the run that belongs to a seed, and play the run. ValueError: no such kind."""
    return play(draw(seed, kind))


def play(plan: SimulationPlan, thorough: bool = False) -> Outcome:
    """Play a plan and return the outcome of the run. `thorough`: do all that is otherwise done for some seeds only."""
    run = Playing(plan, thorough or plan.seed % SAMPLED_EVERY == 0)
    run.run()
    run.end()
    world, bench = run.world, run.world.bench
    if world.journal.defect is not None:
        bench.found("defect", world.journal.defect)
    replayed = bench.finding is None and (thorough or plan.seed % REPLAYED_EVERY == 0)
    if replayed and (difference := _difference(world.journal.data())) is not None:
        bench.found("replay", difference)
    return Outcome(
        plan=plan, finding=bench.finding, digest=world.journal.digest(), rows=len(world.journal.lines) - 1,
        requests=world.driver.counters.handled, virtual_ms=world.rig.now_ms, replayed=replayed, largest=bench.budgets.largest,
        longest_turn=bench.turns.longest, story=[f"{at(row)}  {sentence(row)}" for row in world.journal.rows[-STORY_ROWS:]],
    )  # fmt: skip


def _difference(journal: bytes) -> str | None:
    try:
        result = replay_of(BytesIO(journal))
    except CannotReplay as problem:
        return str(problem)
    return None if result.difference is None else str(result.difference)
