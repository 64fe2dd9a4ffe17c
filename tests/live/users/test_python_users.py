"""Runs two user projects in Python, a service and its tests in each folder next to this file, which were written from the docs alone.

The suites cover a rebalance, a crash, a stale commit, a slow poll, a restart and a poison record.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "suite.py"]
TOPICS = ["--topic", "orders:4", "--topic", "orders.dead:1"]
ROLES = {
    "aiokafka_with_pytest": PYTEST,
    "run_beside_a_cluster": [sys.executable, "-m", "groupmock", "run", "--log", "off", *TOPICS, "--control", "0", "--", *PYTEST],
}
"""Folder of a user -> the command that the user types."""


def played(role: str, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run a user's tests in a copy of the project, in which existing files stay."""
    for file in (Path(__file__).parent / role).glob("*.py"):
        if not (folder / file.name).exists():
            shutil.copy(file, folder)
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run([*ROLES[role], *more], cwd=folder, env=ours, capture_output=True, text=True, timeout=500, check=False)


@pytest.mark.parametrize(("role", "tests"), [("aiokafka_with_pytest", 7), ("run_beside_a_cluster", 14)])
def test_a_users_suite_passes(role: str, tests: int, tmp_path: Path) -> None:
    done = played(role, tmp_path)
    assert done.returncode == 0 and f"{tests} passed" in done.stdout, done.stdout + done.stderr


def test_a_service_that_never_commits_is_seen_in_the_failed_tests_text(tmp_path: Path) -> None:
    """The user's tests can fail, and their output then shows the cause."""
    service = (Path(__file__).parent / "aiokafka_with_pytest" / "kitchen.py").read_text()
    careless = service.replace("                await self._commit(consumer, record)\n", "")
    assert careless != service
    (tmp_path / "kitchen.py").write_text(careless)
    done = played("aiokafka_with_pytest", tmp_path, "-k", "served_and_committed")
    assert (done.returncode, "1 failed" in done.stdout) == (1, True), done.stdout + done.stderr
    assert ">       view = await broker.wait_for(" in done.stdout
    assert "groupmock.GroupTimeout: group 'kitchen' did not reach state Stable, members 1, lag 0" in done.stdout
    assert "inprocess/" not in done.stdout
