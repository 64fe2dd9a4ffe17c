"""Runs the steps of the composite actions in order, as a GitHub runner does, with the files that a runner reads between steps."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

TREE = Path(__file__).resolve().parents[3]
PATIENCE_S = 600
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"


@dataclass
class Job:
    """The environment and the outputs of a GitHub job after the steps so far."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)

    def use(self, action: str, **given: str) -> tuple[int, str]:
        """Run an action and return its output with the exit code of the failed step, or 0."""
        folder = TREE / "actions" / action
        said: dict[str, Any] = yaml.safe_load((folder / "action.yml").read_text())
        assert given.keys() <= said["inputs"].keys()
        inputs = {name: given.get(name, one.get("default", "")) for name, one in said["inputs"].items()}
        printed = ""
        for step in said["runs"]["steps"]:
            env = {name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: inputs[found[1]], text) for name, text in step["env"].items()}
            code, text = self._step(step["run"], env | {"GITHUB_ACTION_PATH": str(folder)})
            printed += text
            if code:
                return code, printed
        return 0, printed

    def shell(self, script: str) -> tuple[int, str]:
        """Run a step that belongs to the workflow itself."""
        return self._step(script, {})

    def _step(self, script: str, env: dict[str, str]) -> tuple[int, str]:
        files = {name: self.folder / name.lower() for name in ("GITHUB_ENV", "GITHUB_OUTPUT")}
        for file in files.values():
            file.write_text("")
        known = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "RUNNER_TEMP": str(self.folder / "temp"), "RUNNER_OS": "Linux"}
        pip = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "SSL_", "REQUESTS_"))}
        variables = known | pip | self.variables | env | {name: str(file) for name, file in files.items()}
        # The output of the command goes to a file, because a background process would keep a pipe open.
        with (self.folder / "printed").open("w+") as printed:
            words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
            code = subprocess.run(
                words, env=variables, stdout=printed, stderr=subprocess.STDOUT, timeout=PATIENCE_S, check=False
            ).returncode
            printed.seek(0)
            text = printed.read()
        self.variables |= self._left(files["GITHUB_ENV"])
        self.outputs |= self._left(files["GITHUB_OUTPUT"])
        return code, text

    @staticmethod
    def _left(file: Path) -> dict[str, str]:
        return dict(line.split("=", 1) for line in file.read_text().splitlines())


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    (tmp_path / "temp").mkdir()
    job = Job(tmp_path)
    yield job
    job.use("stop", status="success")


def test_a_job_finds_the_cluster_and_the_journal_is_whole(job: Job) -> None:
    code, said = job.use("start", topics="orders:12 payments", options="--seed 7 --run 'a night run'", python=sys.executable)
    assert code == 0, said
    assert job.variables["KAFKA_BOOTSTRAP_SERVERS"] == job.variables["GROUPMOCK_BOOTSTRAP"] == job.outputs["bootstrap"]
    assert job.shell(f'"{sys.executable}" "{TREE}/docker/health.py" "$KAFKA_BOOTSTRAP_SERVERS"')[0] == 0
    code, said = job.shell('"$RUNNER_TEMP/groupmock/venv/bin/groupmock" cluster health')
    assert (code, json.loads(said)["topics"]["orders"], json.loads(said)["seed"]) == (0, 12, 7)

    code, said = job.use("stop", status="success")
    assert (code, said) == (0, ""), "a job that went well is told nothing"
    assert job.shell('"$RUNNER_TEMP/groupmock/venv/bin/groupmock" cluster health')[0] == 3
    header = json.loads(Path(job.outputs["journal"]).read_text().splitlines()[0])
    assert header["run"] == "a night run"


def test_a_job_that_failed_is_told_the_story_of_its_groups_and_no_name_of_a_client_is_a_command(job: Job) -> None:
    assert job.use("start", topics="orders", python=sys.executable)[0] == 0
    script = """
import os
from kafka import KafkaConsumer
cook = KafkaConsumer("orders", bootstrap_servers=os.environ["KAFKA_BOOTSTRAP_SERVERS"], group_id="::error::kitchen", client_id="anna")
while not cook.assignment():
    cook.poll(100)
cook.close()
"""
    (job.folder / "consume.py").write_text(script)
    code, said = job.shell(f'"{sys.executable}" "{job.folder}/consume.py"')
    assert code == 0, said
    code, said = job.use("stop", status="failure")
    assert code == 0, said
    (quoted,) = re.findall(r"^::stop-commands::(\w+)\n(.*?)^::\1::$", said, re.MULTILINE | re.DOTALL)
    assert "anna" in quoted[1] and "::error::kitchen" in quoted[1]
    assert "::error::" not in said.replace(quoted[1], "")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"topics": "orders:0"}, "it did not start: groupmock serve: "),
        ({"options": "--no-such-flag"}, "it did not start: groupmock serve: "),
        ({"python": "python-of-nobody"}, "groupmock needs Python 3.11 or newer, and python-of-nobody is none"),
    ],
    ids=["topic", "flag", "python"],
)
def test_a_start_that_cannot_be_is_one_error_of_the_job(given: dict[str, str], told: str, job: Job) -> None:
    code, said = job.use("start", **({"python": sys.executable} | given))
    assert code == 1
    assert re.findall(r"^::error title=groupmock::(.*)$", said, re.MULTILINE)[0].startswith(told), said


def test_a_server_that_died_by_itself_fails_the_job(job: Job) -> None:
    assert job.use("start", python=sys.executable)[0] == 0
    assert job.shell('pid=$(cat "$RUNNER_TEMP/groupmock/pid"); kill -KILL "$pid"; while kill -0 "$pid" 2>&-; do sleep 0.1; done')[0] == 0
    code, said = job.use("stop", status="success")
    assert code == 1
    assert "::error title=groupmock::it ended before it was told to" in said


def test_stop_without_start_is_a_warning(job: Job) -> None:
    code, said = job.use("stop", status="success")
    assert code == 0
    assert "no step of this job used the action `start`" in said


def test_actionlint_has_nothing_to_say_of_the_workflows(tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("not on the PATH: go")
    workflows = sorted(str(file) for file in (TREE / ".github/workflows").glob("*.yml"))
    done = subprocess.run(["go", "run", ACTIONLINT, *workflows], cwd=TREE, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
