"""A long Spark job prints its progress."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from groupmock.text.progress import ERASE
from groupmock_pipeline import progress as watched
from groupmock_pipeline.progress import Stage, StageProgress, progress_shown, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_S = 120


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_has_stage_tasks_percent_rows_and_their_speed() -> None:
    now, out = [0.0], Terminal()
    progress = StageProgress("faults", out, lambda: now[0])
    progress.show([])
    assert out.getvalue() == ""
    steps = [(0.0, [Stage(3, 0, 8)]), (10.0, [Stage(3, 2, 8, 1000)]), (20.0, [Stage(3, 8, 8, 4000), Stage(4, 0, 2, 500)])]
    for now[0], stages in steps:
        progress.show(stages)
    progress.erase()
    assert out.getvalue().split(ERASE) == [
        "",
        "faults, stage 3: 0 of 8 tasks",
        "faults, stage 3: 2 of 8 tasks, 25 %, 30 s left: 1,000 rows, 100 rows/s",
        "faults, stages 3, 4: 8 of 10 tasks, 80 %, 0 s left: 4,500 rows, 350 rows/s",
        "",
    ]


def test_journals_that_are_read_as_texts_count_by_the_rows_that_are_made_of_them() -> None:
    assert rows_of({"inputRecords": 20, "shuffleReadRecords": 1, "outputRecords": 0}) == 21
    assert rows_of({"inputRecords": 20, "shuffleReadRecords": 0, "outputRecords": 100_000}) == 100_000


class Heard(Terminal):
    """Collects output and opens the gate, for which the job waits, after the first line."""

    def __init__(self, gate: Path) -> None:
        super().__init__()
        self.gate = gate

    def write(self, text: str) -> int:
        if not self.getvalue():
            self.gate.write_text("")
        return super().write(text)


def test_a_job_that_takes_long_is_told_while_it_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    place = str(gate)

    def waiting(batches: Iterator[Any]) -> Iterator[Any]:
        with open(place):  # Opening this file, a FIFO, blocks until the test writes to it.
            yield from batches

    monkeypatch.setattr(watched, "EVERY_S", 0.01)
    out = Heard(gate)
    with ThreadPoolExecutor() as pool, progress_shown(spark, "try", out):
        counted = pool.submit(spark.range(0, 1, 1, 1).mapInArrow(waiting, "id long").count)
        wait([counted], PATIENCE_S)
        if not counted.done():
            gate.write_text("")
        assert counted.result() == 1
    assert re.match(re.escape(ERASE) + r"try, stage \d+: 0 of 1 tasks", out.getvalue())
    assert out.getvalue().endswith(ERASE)


def test_a_job_without_a_terminal_shows_no_progress(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "EVERY_S", 0.01)
    out = io.StringIO()
    with progress_shown(spark, "try", out):
        assert spark.range(3).count() == 3
    assert out.getvalue() == ""
