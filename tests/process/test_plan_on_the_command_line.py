"""`serve --plan` and `run --plan` read a plan from a file or by its name, use its seed, and explain a bad plan in one line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

GROUPMOCK = [sys.executable, "-m", "groupmock"]
GOOD = 'seed = 77\n[[rule]]\nname = "shut"\ndo = { kind = "refuse" }\n'
BAD = {
    "[[rule]]\ndo = { kind = 'drp' }\n": "rule 1, do: no kind 'drp' (did you mean drop?)",
    "[[rule]]\nname = 'x'\nwhen = { api = 'Heartbeat', version = 0 }\ndo = { kind = 'throttle_time', seconds = 1 }\n": "its answer has no",
    "[[rule]\n": "is not TOML",
    "a = " + "[" * 60_000: "is nested more than 16 deep",
    "seed = " + "9" * 5000: "is not to be read: a word of more than 200 characters",
}
LOOK = "import os, socket; s = socket.create_connection(os.environ['KAFKA_BOOTSTRAP'].split(':')); s.recv(1)"


def groupmock(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*GROUPMOCK, *words], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("verb", [["serve", "--port", "0"], ["run"]])
@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_a_bad_plan_is_bad_use(tmp_path: Path, verb: list[str], text: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)
    command = ["--", "true"] if verb == ["run"] else []
    ended = groupmock(*verb, "--log", "off", "--plan", str(file), *command)
    assert ended.returncode == 2
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"groupmock {verb[0]}: {file}")
    assert BAD[text] in line


def test_a_plan_that_is_not_there_names_the_ready_ones() -> None:
    ended = groupmock("serve", "--port", "0", "--plan", "lost-snc")
    assert (ended.returncode, "ready plans: " in ended.stderr, "lost-sync" in ended.stderr) == (2, True, True)


def test_serve_with_a_plan_has_its_seed(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(GOOD)
    with subprocess.Popen(
        [*GROUPMOCK, "serve", "--port", "0", "--log", "off", "--plan", str(tmp_path / "p.toml")], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert json.loads(server.stdout.readline())["seed"] == 77
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0


def test_run_with_a_plan(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(GOOD)
    ended = groupmock("run", "--log", "off", "--plan", str(tmp_path / "p.toml"), "--", sys.executable, "-c", LOOK)
    assert ended.returncode == 1 and "ConnectionResetError" in ended.stderr


IDLE = 'groupmock run: rule "lost-sync" never fired: no call came at its stage\n'


def test_run_says_which_rules_never_fired() -> None:
    ended = groupmock("run", "--log", "off", "--plan", "lost-sync", "--", "true")
    assert (ended.returncode, ended.stderr) == (0, IDLE)


@pytest.mark.parametrize(("command", "status"), [("true", 1), ("exit 3", 3)])
def test_a_strict_plan_that_never_fired_fails_a_command_that_went_well(command: str, status: int) -> None:
    ended = groupmock("run", "--log", "off", "--plan", "lost-sync", "--strict-plan", "--", "sh", "-c", command)
    assert (ended.returncode, ended.stderr) == (status, IDLE)


def test_a_strict_plan_that_fired_is_content_also_before_a_reset(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(GOOD)
    look = LOOK.replace("; s = ", "\ntry:\n  s = ") + "\nexcept OSError: pass\n"
    reset = "import urllib.request as u; u.urlopen(u.Request(os.environ['GROUPMOCK_CONTROL_URL'] + '/v1/reset', method='POST'))\n"
    plan = ["--plan", str(tmp_path / "p.toml"), "--strict-plan", "--control", "0"]
    ended = groupmock("run", "--log", "off", *plan, "--", sys.executable, "-c", look + reset)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_strict_plan_without_a_plan_is_bad_use() -> None:
    ended = groupmock("run", "--strict-plan", "--", "true")
    assert (ended.returncode, "--strict-plan needs a plan" in ended.stderr) == (2, True)
