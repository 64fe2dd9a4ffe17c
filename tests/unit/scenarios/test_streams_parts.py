"""Kafka Streams on the live stage without Java: its jars, its sizes, and the settings of an instance."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from groupmock_clients.scenarios.catalogue import LIVE, fitting
from groupmock_clients.scenarios.live import jars
from groupmock_clients.scenarios.live.jars import streams_classes
from groupmock_clients.scenarios.play import STREAMS, STREAMS_CLASSIC, Sizes, Unsupported
from groupmock_clients.scenarios.results import jobs


def test_times_of_stock_streams_instances_are_those_of_a_java_virtual_machine() -> None:
    for protocol in (each for each in LIVE if each.client == "kafka-streams"):
        assert fitting(Sizes(members=5, change=2), protocol) == Sizes(members=4, change=1, session_ms=10_000, heartbeat_ms=500)
        large = Sizes(members=3, session_ms=20_000, heartbeat_ms=3000)
        assert fitting(large, protocol) == large


def test_stock_streams_instances_are_played_where_a_topology_in_use_stays_as_it_is() -> None:
    played = {(job.protocol.name, job.scenario.name) for job in jobs("live", Sizes(), [], [STREAMS, STREAMS_CLASSIC])}
    scenarios = ("death-at-once", "death-in-time", "death-too-late", "rolling-bounce", "scale-up", "scale-down")
    assert played == {(protocol, scenario) for protocol in (STREAMS, STREAMS_CLASSIC) for scenario in scenarios}


def test_streams_without_a_compiler_say_that_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool == "javac" else f"/usr/bin/{tool}")
    with pytest.raises(Unsupported, match="Kafka Streams needs javac on the PATH"):
        streams_classes()


def test_the_streams_application_is_compiled_once_with_the_jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setenv(jars.CACHE, str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda tool: f"/usr/bin/{tool}")
    monkeypatch.setattr(subprocess, "run", run)
    home = streams_classes()
    assert streams_classes() == home
    assert [command[0] for command in commands] == ["mvn", "javac"]
    assert commands[1][-1].endswith("CountingInstance.java")
    assert [each.name for each in tmp_path.iterdir()] == [home.name], "no drafts are left"


def test_a_streams_application_that_does_not_compile_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, int(command[0] == "javac"), "", "cannot find symbol")

    monkeypatch.setenv(jars.CACHE, str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda tool: f"/usr/bin/{tool}")
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(Unsupported, match=r"javac could not compile CountingInstance\.java: cannot find symbol"):
        streams_classes()
    assert list(tmp_path.iterdir()) == []
