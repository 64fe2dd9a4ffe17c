"""Play many combinations and collect their results: one `ScenarioResult` each, in a `ScenarioResults` that is written as JSON."""

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
    """The result of one run of a scenario. `figures` is None if it could not be measured, and `trouble` says why. `broken` lists
    violations.

    `agreed` says whether the virtual run counts the same moves and rounds, None if that was not compared. `picture` is the ownership map of
    the run as a small SVG element, if one was wanted; it is not written as JSON.
    """

    scenario: str
    protocol: str
    client: str
    figures: dict[str, float] | None = None
    trouble: str | None = None
    broken: list[str] = []
    agreed: bool | None = None
    picture: str = ""


class ScenarioResults(msgspec.Struct, kw_only=True):
    """All runs of one stage with the same sizes. `libraries` maps the stock clients' names to versions."""

    stage: str
    sizes: dict[str, float]
    libraries: dict[str, str]
    results: list[ScenarioResult]


@dataclass(frozen=True, slots=True)
class Job:
    """A run that is to be played is a combination of scenario, protocol and sizes. `journal` is a folder to keep the journal in, and
    `pictured` says that the result needs a picture."""

    stage: str
    scenario: Scenario
    protocol: Protocol
    sizes: Sizes
    journal: Path | None = None
    pictured: bool = False

    @property
    def file(self) -> Path | None:
        name = f"{self.scenario.name}-{self.protocol.name}-{self.protocol.client}-{self.stage}.jsonl"
        return None if self.journal is None else self.journal / name


def opener(stage: str) -> Callable[[Sizes, Protocol, Path | None], AbstractContextManager[ScenarioStage]]:
    """Return the function `open_stage` of a stage by its name."""
    if stage == "virtual":
        from .virtual import open_stage

        return open_stage
    from .live.opening import open_stage as open_live

    return open_live


def jobs(
    stage: str, sizes: Sizes, names: Sequence[str], named: Sequence[str], journal: Path | None = None, pictured: bool = False
) -> list[Job]:  # fmt: skip
    """Return every measured combination of these scenarios and protocols (`NAME` or `NAME/CLIENT`, none for all). Raises LookupError.

    Raises Unsupported if no requested combination is measured.
    """
    chosen = [scenario(name) for name in names] or list(SCENARIOS)
    wanted = [each for name in named for each in protocols(stage, name)] or list(protocols(stage))
    played = [(each, protocol) for each in chosen for protocol in wanted if plays(each, protocol)]
    found = [Job(stage, each, protocol, fitting(sizes, protocol), journal, pictured) for each, protocol in played]
    if not found:
        raise Unsupported(f"{', '.join(each.name for each in chosen)} is not played with {', '.join(map(str, wanted))}")
    return found


def play_one(job: Job) -> ScenarioRun:
    """Play one combination and return its rows. Raises Missed, Unsupported."""
    with opener(job.stage)(job.sizes, job.protocol, job.file) as stage:
        return play(job.scenario, job.sizes, job.protocol, stage)


def run_one(job: Job) -> ScenarioResult:
    """Play and measure one combination. A failure becomes part of the result."""
    result = ScenarioResult(scenario=job.scenario.name, protocol=job.protocol.name, client=job.protocol.client)
    try:
        run = play_one(job)
    except (Missed, Unsupported) as trouble:
        result.trouble = f"{type(trouble).__name__.lower()}: {trouble}"
        return result
    result.figures = measure(run.rows).as_fields()
    result.broken = list(map(str, broken(run)))
    if job.pictured:
        from .run_picture import picture

        result.picture = picture(run.rows)
    return result


def run_all(todo: Sequence[Job], workers: int = 1) -> Iterator[ScenarioResult]:
    """Yield the results of jobs as they come. With several `workers` that many runs are played at a time, in processes of their own."""
    if workers == 1:
        yield from map(run_one, todo)
        return
    before = multiprocessing.active_children()
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    try:
        with _interrupts_blocked():  # Workers must not answer Ctrl-C, which reaches the whole process group, with tracebacks.
            waited = [pool.submit(run_one, job) for job in todo]
        for done in as_completed(waited):
            yield done.result()
    except BaseException:  # After an interruption, or if no more results are wanted, runs in progress are not waited for.
        for worker in multiprocessing.active_children():
            if worker not in before:
                worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block SIGINT for processes that are started in the block. This process receives it after the block."""
    # The resource tracker is started now, because a later start would unblock signals (multiprocessing.resource_tracker).
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def collected(stage: str, sizes: Sizes, results: Iterable[ScenarioResult]) -> ScenarioResults:
    """Collect results in the order of the catalogue."""
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
    """Format one result per line, so that a diff shows a change."""
    fields: dict[str, Any] = msgspec.to_builtins(results)
    del fields["results"]
    lines = [msgspec.json.encode(msgspec.structs.replace(each, picture="")) for each in results.results]
    return msgspec.json.encode(fields)[:-1] + b',"results":[\n' + b",\n".join(lines) + b"\n]}\n"


def from_json(data: bytes) -> ScenarioResults:
    """Read results that `to_json` wrote. Raises msgspec.ValidationError, msgspec.DecodeError."""
    return msgspec.json.decode(data, type=ScenarioResults)
