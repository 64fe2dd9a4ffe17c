"""The gate runs every step, distinguishes a failure from a missing tool, and reports both in its table and exit code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

FUNCTIONS = ("suite", "setup", "target", "docs", "package", "readme", "hadolint")
STEPS = re.compile(r"^ *step \S+ \d+ ", re.MULTILINE)
CLOSING = "=================== 3 passed, 1 skipped in 12.34s (0:00:12) ==================="


def gate(tree: Path, folder: Path, **bodies: str) -> tuple[int, list[str]]:
    """Run .ci/run with the steps replaced by `bodies`, and return exit code and lines of output."""
    (folder / ".ci").mkdir()
    shutil.copy(tree / ".ci/run", folder / ".ci/run")
    steps = dict.fromkeys(FUNCTIONS, "true") | bodies
    (folder / ".ci/steps").write_text("".join(f"{name}() {{ {body}; }}\n" for name, body in steps.items()))
    done = subprocess.run(
        ["bash", ".ci/run"], cwd=folder, capture_output=True, text=True, timeout=60, env={**os.environ, "CI": "true"}, check=False
    )
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines()


def rows(lines: list[str]) -> dict[str, str]:
    """Return the rows of the final table by step."""
    start = max(number for number, line in enumerate(lines) if line.startswith("=== the gate"))
    return {line.split()[0]: line.split(maxsplit=1)[1] for line in lines[start + 1 : -1]}


def test_all_well(tree: Path, tmp_path: Path) -> None:
    code, lines = gate(tree, tmp_path, suite=f"echo '{CLOSING}'")
    assert code == 0
    assert CLOSING in lines
    assert rows(lines)["test"].endswith("3 passed, 1 skipped in 12.34s (0:00:12)")
    assert lines[-1] == f"{len(rows(lines))} steps, 0 failed, 0 missing"


def test_the_seconds_of_each_folder_stand_above_the_table(tree: Path, tmp_path: Path) -> None:
    said = ["---- seconds per folder ----", "properties 9 30.1 35", "====== slowest 10 durations ======"]
    _, lines = gate(tree, tmp_path, suite="; ".join(f"echo '{line}'" for line in said))
    start = max(number for number, line in enumerate(lines) if line.startswith("=== the gate"))
    assert lines[start - 3 : start] == [*said[:2], ""]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_failure_in_any_step_is_red_and_the_others_still_run(tree: Path, tmp_path: Path, name: str) -> None:
    code, lines = gate(tree, tmp_path, **{name: "echo gone wrong; exit 3"})
    assert code == 1
    assert "gone wrong" in lines
    assert len(rows(lines)) == len(STEPS.findall((tree / ".ci/run").read_text()))
    assert any("FAIL (exit code 3)" in row for row in rows(lines).values())


def test_a_command_that_fails_in_the_middle_of_a_step_ends_it(tree: Path, tmp_path: Path) -> None:
    code, lines = gate(tree, tmp_path, package="false; echo went on")
    assert code == 1
    assert "went on" not in lines


def test_a_missing_tool_is_reported_and_not_red(tree: Path, tmp_path: Path) -> None:
    code, lines = gate(tree, tmp_path, hadolint="echo 'MISSING: no hadolint for this machine'; exit 77")
    assert code == 0
    assert rows(lines)["hadolint"].startswith("missing")
    assert rows(lines)["hadolint"].endswith("MISSING: no hadolint for this machine")
    assert lines[-1].endswith("0 failed, 1 missing")


def test_the_real_steps_are_those_the_gate_calls(tree: Path) -> None:
    listed = subprocess.run(["bash", "-c", "source .ci/steps; declare -F"], cwd=tree, capture_output=True, text=True, check=True).stdout
    assert {line.split()[-1] for line in listed.splitlines()} >= set(FUNCTIONS)
