"""Show the progress of a long job on stderr: one line that is rewritten on a terminal, else a line every ten seconds. Short jobs show
nothing.

The sources are public interfaces of Spark: the progress of a Spark Connect session, else the status of its stages, and the count of rows if
its web interface is enabled (`/api/v1`, docs of Spark: "Monitoring and Instrumentation").
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO
from urllib.request import ProxyHandler, build_opener

from groupmock.text.progress import RewrittenLine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY_S: Final = 10.0
"""Seconds between two lines, and before the first."""
REWRITTEN_S: Final = 1.0
"""Seconds between two lines on a terminal."""
PATIENCE_S: Final = 5.0


class Stage(NamedTuple):
    """A stage that Spark is running. `rows` counts the rows processed, or is None if unknown."""

    number: int
    done: int
    tasks: int
    rows: int | None = None


Look = Callable[[], list[Stage]]


class Progress:
    """Formats the progress line of one job and computes its speed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._seen: dict[int, int] = {}
        self._when: float | None = None

    def line(self, stages: list[Stage], now: float) -> str | None:
        """Return `rebalances: stage 7: 12 of 64 tasks, 5,120,000 rows, 210,000 rows/s`, or None if no stage runs. `now` is in seconds."""
        if not stages:
            return None
        numbers = ", ".join(str(stage.number) for stage in stages)
        text = f"{self._name}: stage{'s' * (len(stages) > 1)} {numbers}: "
        text += f"{sum(stage.done for stage in stages)} of {sum(stage.tasks for stage in stages)} tasks"
        return text + self._rows({stage.number: stage.rows for stage in stages if stage.rows is not None}, now)

    def _rows(self, rows: dict[int, int], now: float) -> str:
        since, self._when = self._when, now
        new = sum(count - self._seen.get(number, 0) for number, count in rows.items())
        self._seen |= rows
        if not rows:
            return ""
        rate = f", {new / (now - since):,.0f} rows/s" if since is not None and now > since else ""
        return f", {sum(rows.values()):,} rows{rate}"


class ProgressLine(RewrittenLine):
    """The output stream of the progress line, which is a log without a terminal: a job in a cluster has none."""

    def write(self, text: str) -> None:
        """Replace the last line on a terminal, else append a line."""
        if self.terminal:
            super().write(text)
        else:
            self.out.write(f"{text}\n")
            self.out.flush()


@contextmanager
def progress_shown(spark: SparkSession, name: str, out: TextIO | None = None) -> Iterator[None]:
    """Show progress within the block, after its first ten seconds."""
    over, page = Event(), ProgressLine(out)
    with _looking(spark) as look:
        watch = Thread(target=_watch, args=(look, Progress(name), page, over), daemon=True)
        watch.start()
        try:
            yield
        finally:
            over.set()
            watch.join(PATIENCE_S)
            page.erase()


def _watch(look: Look, progress: Progress, page: ProgressLine, over: Event) -> None:
    wait = EVERY_S
    while not over.wait(wait):
        wait = REWRITTEN_S if page.terminal else EVERY_S
        try:
            line = progress.line(look(), time.monotonic())
        except Exception:  # A failure is ignored here, because the job itself reports a broken session better.
            return
        if line is not None and not over.is_set():
            page.write(line)


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
