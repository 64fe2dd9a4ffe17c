"""Show the progress of a long job on a terminal.

The sources are public interfaces of Spark: the progress of a Spark Connect session, else the status of its stages, and the count of rows if
its web interface is enabled (`/api/v1`, docs of Spark: "Monitoring and Instrumentation").
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO
from urllib.request import ProxyHandler, build_opener

from groupmock.text.progress import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY_S: Final = 1.0
"""Seconds between two looks at the stages, and before the first, so that a short job shows nothing."""
PATIENCE_S: Final = 5.0


class Stage(NamedTuple):
    """A stage that Spark is running. `rows` counts the rows processed, or is None if unknown."""

    number: int
    done: int
    tasks: int
    rows: int | None = None


Look = Callable[[], list[Stage]]


class StageProgress:
    """The progress of one job: the tasks of the stages that run, and the speed at which rows are processed."""

    def __init__(self, name: str, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._name, self._out, self._clock = name, out, clock
        self._progress: Progress | None = None
        self._numbers = ""
        self._tasks = 0
        self._seen: dict[int, int] = {}
        self._when: float | None = None

    def show(self, stages: list[Stage]) -> None:
        """Show `rebalances, stage 7: 12 of 64 tasks, 18 %, 40 s left: 5,120,000 rows, 210,000 rows/s`. Nothing changes if no stage runs."""
        if not stages:
            return
        numbers, tasks = ", ".join(str(stage.number) for stage in stages), sum(stage.tasks for stage in stages)
        if self._progress is None or (numbers, tasks) != (self._numbers, self._tasks):
            # The remaining time is that of these stages, because Spark does not say how many stages will follow.
            what = f"{self._name}, stage{'s' * (len(stages) > 1)} {numbers}"
            self._progress, self._numbers, self._tasks = Progress(what, tasks, "tasks", self._out, self._clock), numbers, tasks
        rows = {stage.number: stage.rows for stage in stages if stage.rows is not None}
        self._progress.show(sum(stage.done for stage in stages), self._rows(rows, self._clock()))

    def erase(self) -> None:
        if self._progress is not None:
            self._progress.erase()

    def _rows(self, rows: dict[int, int], now: float) -> str:
        since, self._when = self._when, now
        new = sum(count - self._seen.get(number, 0) for number, count in rows.items())
        self._seen |= rows
        if not rows:
            return ""
        rate = f", {new / (now - since):,.0f} rows/s" if since is not None and now > since else ""
        return f"{sum(rows.values()):,} rows{rate}"


@contextmanager
def progress_shown(spark: SparkSession, name: str, out: TextIO | None = None) -> Iterator[None]:
    """Show progress within the block, on a terminal only."""
    out = sys.stderr if out is None else out
    if not out.isatty():
        yield
        return
    over, progress = Event(), StageProgress(name, out)
    with _looking(spark) as look:
        watch = Thread(target=_watch, args=(look, progress, over), daemon=True)
        watch.start()
        try:
            yield
        finally:
            over.set()
            watch.join(PATIENCE_S)
            progress.erase()


def _watch(look: Look, progress: StageProgress, over: Event) -> None:
    while not over.wait(EVERY_S):
        try:
            stages = look()
        except Exception:  # A failure is ignored here, because the job itself reports a broken session better.
            return
        if not over.is_set():
            progress.show(stages)


@contextmanager
def _looking(spark: SparkSession) -> Iterator[Look]:
    from pyspark.sql import is_remote

    if not is_remote():
        yield _on_driver(spark)
        return
    last: list[Stage] = []

    def heard(stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        running = [] if done else [stage for stage in stages or () if not stage.done]
        last[:] = [Stage(each.stage_id, each.num_completed_tasks, each.num_tasks) for each in running]

    spark.registerProgressHandler(heard)  # type: ignore[arg-type]  # a class in PySpark's stubs, any function in its docs
    try:
        yield lambda: list(last)
    finally:
        spark.removeProgressHandler(heard)  # type: ignore[arg-type]


def _on_driver(spark: SparkSession) -> Look:
    context = spark.sparkContext  # Only a session without Spark Connect has a Spark context.
    tracker, page = context.statusTracker(), context.uiWebUrl

    def look() -> list[Stage]:
        rows = {} if page is None else _read(page)
        found = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
        return [Stage(each.stageId, each.numCompletedTasks, each.numTasks, rows.get(each.stageId)) for each in found if each is not None]

    return look


def _read(page: str) -> dict[int, int]:
    """Return the rows processed by each active stage, from Spark's web interface."""
    opened = build_opener(ProxyHandler({}))  # No HTTP proxy is used, because the server asked here is this process's own Java.
    try:
        with opened.open(f"{page}/api/v1/applications", timeout=PATIENCE_S) as answer:
            (application, *_) = json.load(answer)
        with opened.open(f"{page}/api/v1/applications/{application['id']}/stages?status=active", timeout=PATIENCE_S) as answer:
            return {stage["stageId"]: rows_of(stage) for stage in json.load(answer)}
    except (OSError, ValueError):
        return {}


def rows_of(stage: Mapping[str, int]) -> int:
    """Count the rows that a stage read from files and other stages, or the rows written if these are more: a journal read as one text
    counts as one row. (Spark counts written rows when a task is done.)"""
    return max(stage["inputRecords"] + stage["shuffleReadRecords"], stage["outputRecords"])
