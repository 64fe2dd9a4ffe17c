"""Tests the control API of real processes: `serve --control`, `run --control` and the verbs that talk to them."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from groupmock.cli import main
from groupmock_codec.extras import pip_install

GROUPMOCK = [sys.executable, "-m", "groupmock"]
PATIENCE = 60


class Verbs:
    """Runs `groupmock` verbs against one served cluster."""

    def __init__(self, ready: dict[str, Any], process: subprocess.Popen[str]) -> None:
        self.ready, self.process = ready, process

    def run(self, *words: str, stdin: str = "", **environment: str) -> tuple[int, Any, str]:
        """Return exit code, decoded output and stderr. The verb runs in this process, because a dozen processes would be slow."""
        variables = {"GROUPMOCK_CONTROL_URL": self.ready["control"], "GROUPMOCK_TOKEN": "secret"} | environment
        out, err = io.StringIO(), io.StringIO()
        piped = io.TextIOWrapper(io.BytesIO(stdin.encode()))
        with mock.patch.dict(os.environ, variables), mock.patch("sys.stdin", piped), redirect_stdout(out), redirect_stderr(err):
            try:
                code = main(words)
            except SystemExit as left:
                code = int(left.code or 0)
        return code, json.loads(out.getvalue()) if out.getvalue() else None, err.getvalue()


@pytest.fixture(scope="module")
def verbs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verbs]:
    journal = str(tmp_path_factory.mktemp("control") / "run.jsonl")
    words = ["serve", "--port", "0", "--control", "0", "--token", "secret", "--nodes", "2", "--topic", "orders:2", "--log", "off"]
    with subprocess.Popen([*GROUPMOCK, *words, "--journal", journal], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Verbs(json.loads(process.stdout.readline()), process)
        process.terminate()
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out, err) == (0, "", "")


def test_the_ready_line_has_the_url(verbs: Verbs) -> None:
    assert verbs.ready["control"].startswith("http://127.0.0.1:")


def test_groups_are_steered(verbs: Verbs) -> None:
    assert verbs.run("group", "list")[:2] == (0, [])
    code, answer, _ = verbs.run("group", "hold", "g", "Empty")
    assert (code, set(answer)) == (0, {"seq"})
    assert verbs.run("group", "order", "g", "anna", "ben")[0] == 0
    assert verbs.run("group", "release", "g")[0] == 0


def test_rules_and_plans(verbs: Verbs, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[[rule]]\nname = "mine"\nwhen = { api = "Heartbeat" }\ndo = { kind = "drop" }\n')
    assert verbs.run("faults", "plan", str(plan))[:2] == (0, {"names": ["mine"]})
    assert verbs.run("faults", "plan", "lost-sync")[:2] == (0, {"names": ["lost-sync"]})
    rule = {"name": "json", "when": {"api": "Heartbeat"}, "do": {"kind": "drop"}}
    assert verbs.run("faults", "add", json.dumps(rule))[:2] == (0, {"names": ["json"]})
    assert verbs.run("faults", "add", "-", stdin=json.dumps(rule | {"name": "piped"}))[:2] == (0, {"names": ["piped"]})
    assert [row["name"] for row in verbs.run("faults", "list", "--never-fired", "true")[1]] == ["mine", "lost-sync", "json", "piped"]
    assert verbs.run("faults", "show", "mine")[1]["fired"] == 0
    assert verbs.run("faults", "remove", "mine")[0] == 0
    assert verbs.run("faults", "clear")[0] == 0
    assert verbs.run("faults", "list")[1] == []


def test_the_cluster_is_steered_and_the_journal_asked(verbs: Verbs) -> None:
    code, answer, _ = verbs.run("cluster", "stop", "2", "--clean", "false", "--loading-ms", "5")
    assert code == 0
    (row,) = verbs.run("journal", "find", "--kind", "command", "--since", str(answer["seq"] - 1))[1]["rows"]
    assert row["arguments"] == {"node": 2, "clean": False, "loading_ms": 5}
    assert verbs.run("cluster", "health")[1]["nodes"][1]["state"] == "stopped"
    assert verbs.run("cluster", "start", "2")[0] == 0
    assert verbs.run("cluster", "step", "1000")[0] == 0
    assert verbs.run("cluster", "move", "--group", "g", "--node", "1")[0] == 0
    assert verbs.run("journal", "count", "--name", "stop_node")[1]["count"] == 1


def test_topics_are_created_grown_and_deleted(verbs: Verbs) -> None:
    assert verbs.run("topic", "create", "payments", "--partitions", "2")[0] == 0
    assert verbs.run("topic", "create", "refunds")[0] == 0
    assert verbs.run("topic", "grow", "payments", "5")[0] == 0
    topics = verbs.run("cluster", "health")[1]["topics"]
    assert (topics["payments"], topics["refunds"]) == (5, 1)
    assert [verbs.run("topic", "delete", name)[0] for name in ("payments", "refunds")] == [0, 0]
    assert {"payments", "refunds"}.isdisjoint(verbs.run("cluster", "health")[1]["topics"])


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["topic", "grow", "orders", "1"], 2, "groupmock topic grow: The topic orders currently has 2 partition(s); 1 would not be an"),
        (["topic", "grow", "orders"], 2, "groupmock topic grow: the following arguments are required: PARTITIONS"),
        (["topic", "create", "orders"], 2, "groupmock topic create: Topic 'orders' already exists: grow it, delete it first, or choose"),
        (["topic", "create", "a b"], 2, "groupmock topic create: Topic name is invalid: 'a b' contains"),
        (["topic", "create", "t", "--partitions", "none"], 2, "groupmock topic create: argument: Expected `int | null`, got `str`"),
        (["topic", "delete", "nope"], 2, "groupmock topic delete: no topic 'nope': there are orders"),
        (["group", "show", "nope"], 2, "groupmock group show: no group 'nope': there are none"),
        (["group", "hold", "g", "Stabl"], 2, "groupmock group hold: hold_group: no group can be held in Stabl: there are Empty,"),
        (["group", "hold", "g"], 2, "groupmock group hold: the following arguments are required: STATE"),
        (["group"], 2, "groupmock group: the following arguments are required: WORD"),
        (["group", "grow"], 2, "groupmock group: argument WORD: invalid choice: 'grow'"),
        (["cluster", "stop", "two"], 2, "groupmock cluster stop: argument: Expected `int`, got `str` - at `$.node` (node: node id"),
        (["journal", "find", "--limit", "many"], 2, "groupmock journal find: option: Expected `int`, got `str`"),
        (["journal", "wait", "--kind", "moved", "--timeout", "0.05"], 1, "groupmock journal wait: 0 of 1 rows (kind moved) within 0.05 s"),
        (["faults", "plan", "./nope.toml"], 2, "groupmock faults plan: [Errno 2] No such file or directory: './nope.toml'"),
        (["faults", "plan", "nope"], 2, "groupmock faults plan: no ready plan 'nope': there are"),
        (["faults", "add", "{}"], 2, "groupmock faults add: the rule"),
        (["faults", "list", "--token", "wrong"], 2, "groupmock faults list: a token is wanted"),
        (["faults", "list", "--control", "127.0.0.1:1"], 2, "groupmock faults list: '127.0.0.1:1' is no URL: http://127.0.0.1:PORT"),
        (["faults", "list", "--control", "http://127.0.0.1:1"], 3, "groupmock faults list: no control API at http://127.0.0.1:1: "),
        (["watch", "--token", "wrong"], 2, "groupmock watch: a token is wanted"),
        (["watch", "--control", ""], 2, "groupmock watch: where is the control API? --control URL"),
        (["watch", "--control", "127.0.0.1:1"], 2, "groupmock watch: '127.0.0.1:1' is no URL: http://127.0.0.1:PORT"),
        (["watch", "--control", "http://127.0.0.1:1"], 3, "groupmock watch: no control API at http://127.0.0.1:1: "),
        (["watch", "--group", "nope"], 2, "groupmock watch: no group 'nope': there are none"),
        (["watch", "--interval", "0"], 2, "groupmock watch: argument --interval: seconds from 0.1 to 3600 expected, not '0'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_use_is_one_line_and_an_exit_code(verbs: Verbs, words: list[str], code: int, line: str) -> None:
    got, out, err = verbs.run(*words)
    assert (got, out, err.count("\n")) == (code, None, 1), err
    assert err.startswith(line)


def test_watch_prints_a_snapshot_where_stdout_is_no_terminal(verbs: Verbs, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "--control", verbs.ready["control"], "--token", "secret"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("groupmock ") and "2 nodes" in said[0] and "no groups" in said


def test_the_live_view_says_what_it_needs(verbs: Verbs) -> None:
    terminal = mock.Mock(wraps=sys.__stdout__, isatty=lambda: True)
    err = io.StringIO()
    with mock.patch.dict(sys.modules, {"textual": None, "textual.app": None}), mock.patch("sys.stdout", terminal), redirect_stderr(err):
        sys.modules.pop("groupmock.watch.terminal.app", None)
        assert main(["watch", "--control", verbs.ready["control"], "--token", "secret"]) == 3
    assert err.getvalue().startswith(f"groupmock watch: the live view needs textual: {pip_install('watch')} (--once ")


def test_without_an_address_the_variable_is_named(verbs: Verbs) -> None:
    code, _, err = verbs.run("group", "list", GROUPMOCK_CONTROL_URL="")
    assert code == 2
    assert err.startswith("groupmock group list: where is the control API? --control URL, or the variable GROUPMOCK_CONTROL_URL")


def test_a_reset_keeps_the_journal_that_was(verbs: Verbs) -> None:
    assert verbs.run("cluster", "reset")[0] == 0
    journal = Path(verbs.ready["journal"])
    kept = Path(f"{journal}.1")
    rows = [json.loads(line) for line in kept.read_text().splitlines()]
    assert (rows[-1]["kind"], rows[-1]["what"]) == ("note", "end")
    assert verbs.run("cluster", "health")[1]["topics"] == {"orders": 2}
    assert json.loads(journal.read_text().splitlines()[0])["v"] == 1


def test_run_tells_its_command_where_the_control_api_is() -> None:
    script = 'groupmock() { "$PYTHON" -m groupmock "$@"; }; groupmock faults plan lost-sync && groupmock faults list --never-fired true'
    done = subprocess.run(
        [*GROUPMOCK, "run", "--control", "0", "--token", "t", "--log", "off", "--", "sh", "-c", script],
        capture_output=True, text=True, timeout=PATIENCE, env=os.environ | {"PYTHON": sys.executable}, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert '"names": [' in done.stdout


def test_a_taken_control_port_ends_it_with_3_and_frees_the_other() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = str(held.getsockname()[1])
        done = subprocess.run(
            [*GROUPMOCK, "serve", "--port", "0", "--control", port, "--log", "off"],
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"groupmock serve: cannot serve the control API on 127.0.0.1:{port}: Address already in use: choose")


STEERING = "groupmock.core.steering"


@pytest.mark.parametrize(
    ("flags", "loads"),
    [([], []), (["--topic", "orders"], [STEERING, f"{STEERING}.find", f"{STEERING}.register", f"{STEERING}.topics"])],
    ids=["bare", "with a topic"],
)
def test_serve_without_control_or_rules_loads_none_of_it(flags: list[str], loads: list[str]) -> None:
    """Loading the control API and fault rules would delay the start by a fifth, and the extra may not be installed. Topics load only the
    file that creates them."""
    script = """
import json, subprocess, sys
process = subprocess.Popen([sys.executable, "-X", "importtime", "-m", "groupmock", "serve", "--port", "0", *sys.argv[1:]],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
process.stdout.readline()
process.terminate()
loaded = {line.split("|")[-1].strip() for line in process.communicate()[1].splitlines() if line.startswith("import time")}
print(json.dumps(sorted(name for name in loaded if name.split(".")[0] in ("aiohttp", "prometheus_client")
                        or name.startswith(("groupmock.control", "groupmock.core.steering", "groupmock.faults.", "groupmock.net.fault")))))
"""
    done = subprocess.run([sys.executable, "-c", script, *flags], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert json.loads(done.stdout) == loads


def test_without_the_extra_its_name_is_said() -> None:
    words = ["serve", "--port", "0", "--control", "0"]
    script = f"import sys; sys.modules['aiohttp'] = None; from groupmock.cli import main; sys.exit(main({words}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert f"--control needs aiohttp: {pip_install('control')}" in done.stderr
