"""Does the virtual clock tell what happens? A live run and its virtual twin must agree on what is counted: moves and rounds.

Rounds are those that count (measure), without the late ones, which are librdkafka's own. Times are not compared: a live one has the
machine in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Final

from .catalogue import plays, virtual_twin
from .play import Protocol, Scenario, Sizes, Unsupported
from .results import Job, ScenarioResult, run_one

STARTUP_MS: Final = 100
"""How long the start of a live member takes: it is forked by a process that has loaded its library."""
CHANCES: Final = 3
"""How often a run is played at most. What differs counts when it repeats, as in the comparison with Kafka."""


def twin_of(job: Job) -> Protocol | None:
    """Whose virtual run is compared with this one; None: nobody's."""
    try:
        protocol = virtual_twin(job.protocol)
    except Unsupported:
        return None
    return protocol if plays(job.scenario, protocol) else None


def disagreement(job: Job, live: ScenarioResult) -> str | None:
    """What the virtual twin of this live run counts otherwise, in a sentence; None: nothing, or there is no twin, or no live figures."""
    protocol = twin_of(job)
    if live.figures is None or protocol is None:
        return None
    twin = _twin(job.scenario, protocol, replace(job.sizes, startup_ms=STARTUP_MS))
    if twin.figures is None:
        return f"the virtual twin {protocol} failed: {twin.trouble}"
    seen, told = _counted(live.figures), _counted(twin.figures)
    return None if seen == told else f"moves and rounds were {seen[0]:g} and {seen[1]:g}, of its virtual twin {told[0]:g} and {told[1]:g}"


def compared(job: Job, live: ScenarioResult, again: Callable[[Job], ScenarioResult] = run_one) -> ScenarioResult:
    """The result with `agreed` said, and why not in `broken`.

    A live run has the machine in it: a process that should be back in time may be late on a busy one, which is another story and told
    otherwise. So a run that disagrees is played again, alone, twice at most, and the last one counts; what was broken in an earlier one
    stays told, and its journal stays beside the other one (`.1.jsonl`, `.2.jsonl`).
    """
    found = disagreement(job, live)
    for played in range(1, CHANCES):
        if found is None:
            break
        broken = live.broken
        if job.file is not None and job.file.exists():
            job.file.replace(job.file.with_suffix(f".{played}.jsonl"))
        live = again(job)
        live.broken = [*broken, *live.broken]
        found = disagreement(job, live)
    if live.figures is not None and twin_of(job) is not None:
        live.agreed = found is None
    if found is not None:
        live.broken = [*live.broken, f"{found} (played {CHANCES} times)"]
    return live


@cache
def _twin(scenario: Scenario, protocol: Protocol, sizes: Sizes) -> ScenarioResult:
    return run_one(Job("virtual", scenario, protocol, sizes))


def _counted(figures: dict[str, float]) -> tuple[float, float]:
    return figures["moved"], figures["rounds"] - figures["late"]
