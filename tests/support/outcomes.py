"""Records the outcome of each test of a pytest run (`--outcomes FILE`) and compares the seconds of each folder with its budget.

The seconds are those that workers spent in set-up, call and tear-down. A folder over its budget is reported but fails nothing, because a
busy machine is not a defect.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

BUDGETS: Final = Path(__file__).resolve().parent.parent / "budgets.toml"
"""File with the seconds of one idle core that each folder below tests/ may take."""


def core_seconds() -> float:
    """Return the CPU time of this process and of all processes that it started. Only Linux shows the time of children that still run."""
    running, ticks = _children(os.getpid()), 0
    while running:
        child = running.pop()
        try:
            fields = Path(f"/proc/{child}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        except OSError:  # A process may end between listing it and reading its CPU time.
            continue
        ticks += sum(map(int, fields[11:15]))
        running += _children(child)
    return sum(os.times()[:4]) + ticks / os.sysconf("SC_CLK_TCK")


def _children(process: int) -> list[int]:
    found: list[int] = []
    for tasks in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            found += map(int, tasks.read_text().split())
        except OSError:  # A thread may end between listing it and reading its children.
            continue
    return found


class Cores:
    """Adds to each worker's report the CPU time since the worker's previous report."""

    def __init__(self) -> None:
        self._before = core_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now = core_seconds()
        report.core_seconds, self._before = now - self._before, now  # type: ignore[attr-defined]  # pytest-xdist sends it along
        return report


class Spent(NamedTuple):
    tests: int
    seconds: float


class Outcomes:
    """Collects the reports of a pytest run. With pytest-xdist the controller receives those of every worker."""

    def __init__(self) -> None:
        self.verdicts: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self.cores: dict[str, float] = {}
        self.texts: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = plain(report.nodeid)
        self.seconds[test] = self.seconds.get(test, 0.0) + report.duration
        self.cores[test] = self.cores.get(test, 0.0) + getattr(report, "core_seconds", 0.0)
        if report.failed:
            self.verdicts[test] = "failed"
            self.texts[test] = self.texts.get(test, "") + report.longreprtext
        elif report.skipped or report.when == "call":
            self.verdicts.setdefault(test, report.outcome)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that cannot be collected as one failed test."""
        if report.failed:
            self.verdicts[report.nodeid], self.texts[report.nodeid] = "failed", report.longreprtext

    def write(self, file: Path) -> None:
        """Write one line of JSON per test: name, verdict (passed, failed, skipped), seconds, and the text of a failure."""
        rows = [
            {"test": test, "verdict": verdict, "seconds": round(self.seconds.get(test, 0.0), 3), "text": self.texts.get(test, "")}
            for test, verdict in self.verdicts.items()
        ]
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def plain(test: str) -> str:
    """Return a node id without the group that pytest-xdist appends (`@spark`). An `@` within the brackets is the test's own."""
    before, at, group = test.rpartition("@")
    return before if at and "]" not in group and "/" not in group else test


def folder_of(test: str) -> str:
    """Return the folder of a node id below tests/, with the subfolder for unit and live tests. The unit and live tests have a folder
    more."""
    parts = test.partition("::")[0].split("/")[1:-1]
    return "/".join(parts[: 2 if parts[:1] in (["unit"], ["live"]) else 1])


def spent(seconds: Mapping[str, float]) -> dict[str, Spent]:
    """Return number of tests and seconds per folder, the most expensive folder first."""
    folders: dict[str, Spent] = {}
    for test, took in seconds.items():
        before = folders.get(folder_of(test), Spent(0, 0.0))
        folders[folder_of(test)] = Spent(before.tests + 1, before.seconds + took)
    return dict(sorted(folders.items(), key=lambda each: -each[1].seconds))


def table(folders: Mapping[str, Spent], budgets: Mapping[str, float]) -> Iterable[str]:
    yield f"{'folder':20} {'tests':>6} {'seconds':>8} {'budget':>7}"
    for folder, (tests, seconds) in folders.items():
        budget = budgets.get(folder)
        remark = "no budget" if budget is None else "OVER BUDGET" if seconds > budget else ""
        yield f"{folder:20} {tests:6} {seconds:8.1f} {'' if budget is None else f'{budget:.0f}':>7}  {remark}".rstrip()


def budgets() -> dict[str, float]:
    return {folder: float(seconds) for folder, seconds in tomllib.loads(BUDGETS.read_text(encoding="utf-8")).items()}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--outcomes", metavar="FILE", type=Path, help="write a line of JSON per test: verdict, seconds, text of a failure")


def pytest_configure(config: pytest.Config) -> None:
    """Register the collector only in the controller process, which writes the file."""
    config.pluginmanager.register(Cores(), "groupmock-cores")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Outcomes(), "groupmock-outcomes")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the outcomes file and print the table of folders."""
    seen: Outcomes = config.pluginmanager.getplugin("groupmock-outcomes")
    if (file := config.getoption("--outcomes")) is not None:
        seen.write(file)
    folders = spent(seen.cores)
    if len(folders) > 1:
        terminalreporter.write_sep("-", "seconds per folder")
        for line in table(folders, budgets()):
            terminalreporter.write_line(line)
