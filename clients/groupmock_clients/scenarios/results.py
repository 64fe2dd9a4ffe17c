"""Playing many combinations and keeping what came of them: one `ScenarioResult` each, in a `ScenarioResults` that is written as JSON."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any, Final

import msgspec

from .catalogue import LIVE, SCENARIOS, TOUR, VIRTUAL, fitting, plays, protocols, scenario
from .invariants import broken
from .measure import measure
from .play import Missed, Protocol, Scenario, ScenarioRun, ScenarioStage, Sizes, Unsupported, play

LIBRARIES: Final = ("aiokafka", "kafka-python", "confluent-kafka")


class ScenarioResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One run. `figures` None: it could not be measured, `trouble` says why; `broken`: what an invariant found.

    `agreed`: does its virtual twin count the same moves and rounds? None: it was not asked.
    """

    scenario: str
    protocol: str
    client: str
    figures: dict[str, float] | None = None
    trouble: str | None = None
    broken: list[str] = []
    agreed: bool | None = None


class ScenarioResults(msgspec.Struct, kw_only=True):
    """All runs of one stage with the same sizes; `libraries`: name -> version, where stock clients ran."""

    stage: str
    sizes: dict[str, float]
    libraries: dict[str, str]
    results: list[ScenarioResult]


@dataclass(frozen=True, slots=True)
class Job:
    """One combination. `journal`: a folder to keep the journal in."""

    stage: str
    scenario: Scenario
    protocol: Protocol
    sizes: Sizes
    journal: Path | None = None

    @property
    def file(self) -> Path | None:
        """Where its journal goes."""
        name = f"{self.scenario.name}-{self.protocol.name}-{self.protocol.client}-{self.stage}.jsonl"
        return None if self.journal is None else self.journal / name


def opener(stage: str) -> Callable[[Sizes, Protocol, Path | None], AbstractContextManager[ScenarioStage]]:
    """`open_stage` of the stage by that name."""
    if stage == "virtual":
        from .virtual import open_stage

        return open_stage
    from .live.stage import open_stage as open_live

    return open_live


def jobs(stage: str, sizes: Sizes, names: Sequence[str], named: Sequence[str], journal: Path | None = None) -> list[Job]:
    """Every combination that is measured, of these scenarios and protocols (`NAME` or `NAME/CLIENT`; none: all). LookupError.

    Unsupported if a single combination was asked for and is not measured.
    """
    chosen = [scenario(name) for name in names] or list(SCENARIOS)
    wanted = [each for name in named for each in protocols(stage, name)] or list(protocols(stage))
    played = [(each, protocol) for each in chosen for protocol in wanted if plays(each, protocol)]
    found = [Job(stage, each, protocol, fitting(sizes, protocol), journal) for each, protocol in played]
    if not found:
        raise Unsupported(f"{', '.join(each.name for each in chosen)} is not played with {', '.join(map(str, wanted))}")
    return found


def play_one(job: Job) -> ScenarioRun:
    """Raises Missed, Unsupported."""
    with opener(job.stage)(job.sizes, job.protocol, job.file) as stage:
        return play(job.scenario, job.sizes, job.protocol, stage)


def run_one(job: Job) -> ScenarioResult:
    """Play and measure; what goes wrong is in the result."""
    result = ScenarioResult(scenario=job.scenario.name, protocol=job.protocol.name, client=job.protocol.client)
    try:
        run = play_one(job)
    except (Missed, Unsupported) as trouble:
        result.trouble = f"{type(trouble).__name__.lower()}: {trouble}"
        return result
    result.figures = measure(run.rows).as_fields()
    result.broken = list(map(str, broken(run)))
    return result


def run_all(todo: Sequence[Job], workers: int = 1) -> Iterator[ScenarioResult]:
    """Results as they come, `workers` runs at a time, in processes of their own where there are several."""
    if workers == 1:
        yield from map(run_one, todo)
        return
    before = multiprocessing.active_children()
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    try:
        with _interrupts_blocked():  # in the workers: Ctrl-C reaches the whole process group, and each would answer by a traceback
            waited = [pool.submit(run_one, job) for job in todo]
        for done in as_completed(waited):
            yield done.result()
    except BaseException:  # interrupted, or not wanted any more: nobody waits for runs that are under way
        for worker in multiprocessing.active_children():
            if worker not in before:
                worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block SIGINT for processes that are started in the block. This process gets a SIGINT of that time afterwards."""
    resource_tracker.ensure_running()  # starting it later would end the blocking (multiprocessing.resource_tracker)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def collected(stage: str, sizes: Sizes, results: Iterable[ScenarioResult]) -> ScenarioResults:
    """In the order of the catalogue."""
    scenarios = [each.name for each in (*SCENARIOS, TOUR)]
    known = [str(each) for each in (LIVE if stage == "live" else VIRTUAL)]
    ordered = sorted(results, key=lambda each: (scenarios.index(each.scenario), known.index(f"{each.protocol}/{each.client}")))
    return ScenarioResults(stage=stage, sizes=sizes.as_fields(), libraries=_libraries() if stage == "live" else {}, results=ordered)


def _libraries() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def to_json(results: ScenarioResults) -> bytes:
    """A line a result, so that a change can be read in a diff."""
    fields: dict[str, Any] = msgspec.to_builtins(results)
    lines = [msgspec.json.encode(each) for each in fields.pop("results")]
    return msgspec.json.encode(fields)[:-1] + b',"results":[\n' + b",\n".join(lines) + b"\n]}\n"


def from_json(data: bytes) -> ScenarioResults:
    """Raises msgspec.ValidationError, msgspec.DecodeError."""
    return msgspec.json.decode(data, type=ScenarioResults)
