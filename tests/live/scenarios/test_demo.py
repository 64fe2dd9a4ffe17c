"""`groupmock demo` runs to its end, and explains what happened if a step fails."""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from groupmock_clients.scenarios import demo
from groupmock_clients.scenarios.live import stage as live_stage
from groupmock_clients.scenarios.live.forked_members import close_all
from groupmock_clients.scenarios.live.process import MemberProcess
from groupmock_codec.extras import pip_install


def test_the_demo_runs_to_its_end(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "groupmock", "demo"], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    for piece in (
        r"kill -9 ben",
        r"ben#\w+ is gone: its session expired, nothing was heard of it for 3000 ms",
        r"cleo#\w+ is gone: it left",
        r"every one was read",
        r"the group is empty",
        *(rf"{name}#\w+ joins, " for name in ("ada", "ben", "cleo", "dana", "eli")),
    ):
        assert re.search(piece, done.stdout), f"{piece} is not in {done.stdout}"
    assert f"to open in a browser: {tmp_path / 'demo.html'}" in done.stdout and "\x1b" not in done.stdout
    assert (tmp_path / "demo.html").read_text().startswith("<!DOCTYPE html>")


def failed(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the stderr of a demo that fails."""
    assert demo.run(argparse.Namespace(output=os.devnull)) == demo.FAILED
    close_all()
    return capsys.readouterr().err


def test_a_group_that_does_not_settle_is_a_clear_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(live_stage, "PATIENCE_S", -30.0)
    assert "The demo failed: default/aiokafka: waited" in failed(capsys)


def test_a_member_that_dies_is_a_clear_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def mortal(*arguments: object) -> MemberProcess:
        process = MemberProcess(*arguments)
        os.kill(process._child.pid, signal.SIGKILL)
        return process

    monkeypatch.setattr(live_stage, "MemberProcess", mortal)
    assert "The demo failed: member ada ended by itself with status -9" in failed(capsys)


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(demo, "find_spec", lambda module: None)
    assert demo.run(argparse.Namespace()) == demo.BAD_USE
    extras = "cooperative-aiokafka,cooperative-kafka-python"
    assert capsys.readouterr().err == f"The demo needs aiokafka and kafka-python: {pip_install(*extras.split(','))}\n"
