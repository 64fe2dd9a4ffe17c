"""Shrink the plan of a failing simulated run: leave out steps, clients, nodes and settings as long as the same judge reports a finding.

Delta debugging (A. Zeller, Ralf Hildebrandt: Simplifying and Isolating Failure-Inducing Input, IEEE TSE 28, 2002) on the list of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import structs

from .plan import SimulationPlan, Step

TRIES: Final = 400
"""The greatest number of plans that are played to shrink one."""


def shrunk(plan: SimulationPlan, fails: Callable[[SimulationPlan], bool], tries: int = TRIES) -> SimulationPlan:
    """Return the smallest plan found for which `fails` is still true, which may be the given plan."""
    left = tries
    changed = True
    while changed and left > 0:
        changed = False
        for smaller in _smaller(plan):
            left -= 1
            if fails(smaller):
                plan, changed = smaller, True
                break
            if left <= 0:
                break
    return plan


def _smaller(plan: SimulationPlan) -> Iterator[SimulationPlan]:
    """Yield smaller plans, starting with those that leave out most steps."""
    size = len(plan.steps)
    while size:
        for start in range(len(plan.steps) - size, -1, -size):
            yield structs.replace(plan, steps=[*plan.steps[:start], *plan.steps[start + size :]])
        size //= 2
    for client in plan.clients:
        if len(plan.clients) + len(plan.writers) > 1:
            others = [each for each in plan.clients if each is not client]
            yield structs.replace(plan, clients=others, steps=_without(plan.steps, client.name))
    for writer in plan.writers:
        yield structs.replace(plan, writers=[each for each in plan.writers if each is not writer], steps=_without(plan.steps, writer.name))
    if plan.nodes > 1:
        yield structs.replace(plan, nodes=1)
    for name in plan.settings:
        yield structs.replace(plan, settings={key: value for key, value in plan.settings.items() if key != name})
    for place, step in enumerate(plan.steps):
        if step[0] == "wait" and step[1] > 10:
            yield structs.replace(plan, steps=[*plan.steps[:place], ["wait", step[1] // 2], *plan.steps[place + 1 :]])


def _without(steps: list[Step], client: str) -> list[Step]:
    return [step for step in steps if client not in step[1:]]
