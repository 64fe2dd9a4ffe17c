"""Kafka Connect on the live stage without Java: its jars, its sizes, and the settings of a worker."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from groupmock_clients.scenarios.catalogue import LIVE, fitting
from groupmock_clients.scenarios.live import jars
from groupmock_clients.scenarios.live.jars import connect_libraries
from groupmock_clients.scenarios.play import Sizes, Unsupported
from groupmock_clients.scenarios.results import jobs

CONNECT = next(each for each in LIVE if each.name == "connect")


def test_its_times_are_those_of_a_java_virtual_machine() -> None:
    small = Sizes(members=5, change=2)
    assert fitting(small, CONNECT) == Sizes(members=3, change=1, session_ms=6000, heartbeat_ms=500, delay_ms=25_000)
    large = Sizes(members=3, session_ms=10_000, heartbeat_ms=3000, delay_ms=300_000)
    assert fitting(large, CONNECT) == large
    assert {job.sizes == small for job in jobs("live", small, ["death-in-time"], ["range", "connect"])} == {True, False}


def test_without_java_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool == "mvn" else f"/usr/bin/{tool}")
    with pytest.raises(Unsupported, match="needs mvn on the PATH"):
        connect_libraries()


@pytest.fixture
def maven(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """Replace Maven by a function that creates a jar, and return the recorded commands."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        folder = next(word.removeprefix("-DoutputDirectory=") for word in command if word.startswith("-DoutputDirectory="))
        (Path(folder) / "connect-runtime.jar").touch()
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setenv(jars.CACHE, str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda tool: f"/usr/bin/{tool}")
    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_jars_are_fetched_once(maven: list[list[str]], tmp_path: Path) -> None:
    home = connect_libraries()
    assert connect_libraries() == home
    assert len(maven) == 1
    assert sorted(each.name for each in home.iterdir()) == ["connect-runtime.jar", "pom.xml"]
    assert [each.name for each in tmp_path.iterdir()] == [home.name], "no drafts are left"


def test_a_maven_that_fails_leaves_nothing_behind(maven: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1, "", "no way to get there"))
    with pytest.raises(Unsupported, match="no way to get there"):
        connect_libraries()
    assert list(tmp_path.iterdir()) == []
