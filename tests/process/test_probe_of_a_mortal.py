"""`groupmock probe` continues if a command can restart a server that died, and otherwise reports the remaining rules as unknown."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SERVER = [sys.executable, str(Path(__file__).resolve().parents[1] / "support" / "mortal_server.py")]
SECONDS = 120
HARMLESS = [f"harmless-{number}" for number in range(8)]
EXCHANGES = "\n".join(
    [
        *(f'exchange {name} "t"\nrows: R-{name}\nA: Heartbeat member_id=m generation_id=1 -> 25\n' for name in HARMLESS[:4]),
        'exchange deadly "t"\nrows: R-deadly\nA: Heartbeat member_id=m generation_id=1 -> 25',
        "A: Heartbeat member_id=m generation_id=666 -> 25\n",
        *(f'exchange {name} "t"\nrows: R-{name}\nA: Heartbeat member_id=m generation_id=1 -> 25\n' for name in HARMLESS[4:]),
    ]
)


@pytest.fixture
def port() -> Iterator[str]:
    with subprocess.Popen([*SERVER, "0"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()


def probe(tmp_path: Path, port: str, *words: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    (tmp_path / "some.exchange").write_text(EXCHANGES)
    file = tmp_path / "report.json"
    command = [sys.executable, "-m", "groupmock", "probe", f"127.0.0.1:{port}", "--exchanges", str(tmp_path), "--release", "4.3"]
    done = subprocess.run(
        [*command, "--report", "json", "--output", str(file), *words], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    return done, json.loads(file.read_text())


def verdicts(report: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["verdict"] for each in report["exchanges"]}


@pytest.mark.parametrize("parallel", ["1", "32"])
def test_a_server_that_can_be_started_again_is_judged_to_the_end(parallel: str, tmp_path: Path, port: str) -> None:
    done, report = probe(tmp_path, port, "--parallel", parallel, "--restart", shlex.join([*SERVER, port]))
    assert (done.returncode, done.stderr) == (1, "")
    assert verdicts(report) == {"deadly": "broken", **dict.fromkeys(HARMLESS, "kept")}
    (deadly,) = (each for each in report["exchanges"] if each["name"] == "deadly")
    assert "the server stopped answering during this dialogue; no other was under way" in deadly["detail"]
    assert deadly["broken"]["step"] == "A: Heartbeat member_id=m generation_id=666 -> 25"
    assert [(each["culprit"], each["back"]) for each in report["deaths"]] == [("deadly", True)] * len(report["deaths"])
    assert report["deaths"][0]["how"].startswith("started again by --restart")


def test_without_a_server_the_rest_is_unknown_for_one_reason(tmp_path: Path, port: str) -> None:
    done, report = probe(tmp_path, port, "--parallel", "1", "--wait", "0")
    assert done.returncode == 3
    said = (
        f"groupmock probe: 127.0.0.1:{port}: the broker is gone: it takes no connections any more; the server died of deadly, "
        "perhaps late, of harmless-3; it did not come back within 0 s (--wait; --restart COMMAND tells how to start it)\n"
    )
    assert done.stderr == said
    found = verdicts(report)
    assert found["deadly"] == "broken" and {found[name] for name in HARMLESS[:4]} == {"kept"}
    details = {each["detail"] for each in report["exchanges"] if each["name"] in HARMLESS[4:]}
    assert details == {"the broker is gone: it takes no connections any more"}


def test_what_was_broken_before_the_server_died_cannot_be_repeated(tmp_path: Path, port: str) -> None:
    (tmp_path / "other.exchange").write_text('exchange awry "t"\nrows: R-awry\nA: LeaveGroup v2 member_id=m -> 25\n')
    done, report = probe(tmp_path, port, "--parallel", "1", "--wait", "0")
    assert done.returncode == 3, done.stderr
    (awry,) = (each for each in report["exchanges"] if each["name"] == "awry")
    assert (awry["verdict"], awry["detail"]) == ("unknown", "the broker is gone: it takes no connections any more")
    assert len(report["deaths"]) == 1 and verdicts(report)["deadly"] == "broken"


def test_a_command_that_brings_nothing_back_says_what_it_wrote(tmp_path: Path, port: str) -> None:
    failing = shlex.join([sys.executable, "-c", "print('no such disk'); raise SystemExit(5)"])
    done, report = probe(tmp_path, port, "--parallel", "1", "--restart", failing)
    assert done.returncode == 3
    assert report["deaths"][-1]["how"].endswith("(--wait): the command ended with 5; it wrote: no such disk")


def test_a_command_that_there_is_not_says_so(tmp_path: Path, port: str) -> None:
    _, report = probe(tmp_path, port, "--parallel", "1", "--restart", "no-such-command --port 1")
    assert report["deaths"][-1]["how"] == "no-such-command (--restart) cannot be run: No such file or directory"
