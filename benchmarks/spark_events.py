"""Reads Spark's own event log of a job: CPU, shuffles, the bytes that reached the driver, and whether Python ran.

Spark writes the log with `--set spark.eventLog.enabled=true`; its UI shows the same figures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

PYTHON: Final = re.compile(r"\b(?:\w*MapInArrow|\w*MapInPandas|ArrowEvalPython|BatchEvalPython|FlatMapGroupsIn\w+|PythonUDF)\b")
"""Matches the operators of a query plan that start Python workers."""
SQL_START: Final = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart"
SQL_ADAPTED: Final = "org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate"


def settings(folder: Path) -> dict[str, str]:
    """Return the settings with which Spark writes its log into the folder."""
    return {
        "spark.eventLog.enabled": "true", "spark.eventLog.dir": folder.as_uri(), "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }  # fmt: skip


def flags(settings: dict[str, str]) -> list[str]:
    """Return Spark's settings as words for the command line of `groupmock pipeline`."""
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


@dataclass
class TaskSums:
    """Sums over all tasks of an application, in bytes and seconds. `plans` holds the last text of every query's physical plan."""

    tasks: int = 0
    failed: int = 0
    cpu_s: float = 0.0
    gc_s: float = 0.0
    shuffle_written: int = 0
    shuffle_read: int = 0
    spilled: int = 0
    results: int = 0
    """Bytes that the driver received: serialized results of tasks, with the tasks' statistics."""
    largest_result: int = 0
    peak_memory: int = 0
    plans: dict[int, str] = field(default_factory=dict)

    @property
    def python(self) -> list[str]:
        """The operators in the plans of all queries that start Python workers."""
        return sorted({found for plan in self.plans.values() for found in PYTHON.findall(plan)})


def read(folder: Path) -> TaskSums:
    readings = TaskSums()
    for number, file in enumerate(sorted(folder.iterdir())):
        for event in _events(file):
            _count(readings, event, number)
    return readings


def _events(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            event: dict[str, Any] = json.loads(line)
            yield event


def _count(readings: TaskSums, event: dict[str, Any], application: int) -> None:
    name = event["Event"]
    if name in (SQL_START, SQL_ADAPTED):
        readings.plans[application * 1_000_000 + event["executionId"]] = event["physicalPlanDescription"]
    elif name == "SparkListenerTaskEnd":
        readings.tasks += 1
        readings.failed += event["Task End Reason"]["Reason"] != "Success"
        metrics = event.get("Task Metrics")
        if metrics:
            _add(readings, metrics)


def _add(readings: TaskSums, metrics: dict[str, Any]) -> None:
    readings.cpu_s += metrics["Executor CPU Time"] / 1e9
    readings.gc_s += metrics["JVM GC Time"] / 1e3
    readings.shuffle_written += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
    read_metrics = metrics["Shuffle Read Metrics"]
    readings.shuffle_read += read_metrics["Remote Bytes Read"] + read_metrics["Local Bytes Read"]
    readings.spilled += metrics["Disk Bytes Spilled"]
    readings.results += metrics["Result Size"]
    readings.largest_result = max(readings.largest_result, metrics["Result Size"])
    readings.peak_memory = max(readings.peak_memory, metrics["Peak Execution Memory"])
