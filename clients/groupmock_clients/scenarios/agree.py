"""Compare a live run with the same scenario on the virtual clock: the numbers of moves and rounds must agree.

Late rounds (see `measure`) do not count, because they are peculiar to librdkafka. Times are not compared, because a live one depends on the
machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Final

from .catalogue import plays, virtual_twin
from .play import STREAMS, Protocol, Scenario, Sizes, Unsupported
from .results import Job, ScenarioResult, run_one

STARTUP_MS: Final = 100
"""The time in ms to start a live member, which is forked by a process that has its library loaded."""
BY_CHANCE: Final = (STREAMS, "death-at-once")
"""The protocol and scenario whose count depends on the start of a live group. The first instance has state of every task that it had alone,
and Kafka gives a process that is back before its session ends other tasks for that."""
CHANCES: Final = 3
"""The number of attempts to get equal counts for a scenario. A difference counts only if it repeats, as in the comparison with Kafka."""


def twin_of(job: Job) -> Protocol | None:
    """Return the scripted protocol to compare with, or None if there is none, or if chance decides."""
    if (job.protocol.name, job.scenario.name) == BY_CHANCE:
        return None
    try:
        protocol = virtual_twin(job.protocol)
    except Unsupported:
        return None
    return protocol if plays(job.scenario, protocol) else None


def disagreement(job: Job, live: ScenarioResult) -> str | None:
    """Describe how the virtual run's counts differ from the live one's. None if they agree, if there is no virtual run, or no live
    figures."""
    protocol = twin_of(job)
    if live.figures is None or protocol is None:
        return None
    twin = _twin(job.scenario, protocol, replace(job.sizes, startup_ms=STARTUP_MS))
    if twin.figures is None:
        return f"the virtual twin {protocol} failed: {twin.trouble}"
    seen, told = _counted(live.figures), _counted(twin.figures)
    return None if seen == told else f"moves and rounds were {seen[0]:g} and {seen[1]:g}, of its virtual twin {told[0]:g} and {told[1]:g}"


def compared(job: Job, live: ScenarioResult, again: Callable[[Job], ScenarioResult] = run_one) -> ScenarioResult:
    """Compare a live run with its virtual counterpart, and add `agreed` and differences in `broken` to the result.

    A live run depends on the machine: a process that should be back in time may be late on a busy one, and then the group behaves
    differently. So a run that disagrees is repeated alone, twice at most, and the last one counts. Invariants broken in earlier attempts
    stay in the result, and their journals are kept (`.1.jsonl`, `.2.jsonl`).
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
