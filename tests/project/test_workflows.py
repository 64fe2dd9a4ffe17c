"""Checks the public workflows and composite actions as far as their files allow; `make live` runs the steps and actionlint."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ACTIONS = ("start", "stop")


def read(file: Path) -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load(file.read_text())
    return parsed


@pytest.fixture
def release(tree: Path) -> dict[str, Any]:
    return read(tree / ".github/workflows/release.yml")


@pytest.mark.parametrize("name", ["ci", "release"])
def test_a_workflow_keeps_no_secret_and_may_only_read_unless_a_job_says_more(name: str, tree: Path) -> None:
    file = tree / f".github/workflows/{name}.yml"
    assert "secrets." not in file.read_text()
    assert read(file)["permissions"] == {"contents": "read"}
    for job in read(file)["jobs"].values():
        assert job["timeout-minutes"] <= 90
        checkouts = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
        assert [step["with"] for step in checkouts] == [{"persist-credentials": False}] * len(checkouts)


def test_only_the_job_that_publishes_may_be_known_to_the_index(release: dict[str, Any]) -> None:
    known = [name for name, job in release["jobs"].items() if job.get("permissions", {}).get("id-token") == "write"]
    assert known == ["publish"]
    assert release["jobs"]["publish"]["environment"] == "release"
    assert release["jobs"]["publish"]["needs"] == "build"


def test_what_is_published_is_what_passed_the_gates_check(release: dict[str, Any], tree: Path) -> None:
    assert "make package DIST=dist" in [step.get("run") for step in release["jobs"]["build"]["steps"]]
    assert '--dist "$(DIST)"' in (tree / "Makefile").read_text()


def test_the_images_that_are_pushed_are_those_of_the_dockerfile(release: dict[str, Any], tree: Path) -> None:
    pushed = {each["target"] for each in release["jobs"]["images"]["strategy"]["matrix"]["include"]}
    assert pushed == set(re.findall(r"^FROM ground AS (\w+)$", (tree / "docker/Dockerfile").read_text(), re.MULTILINE))


def test_make_targets_and_parts_that_workflows_name_are_there(tree: Path) -> None:
    text = "".join(file.read_text() for file in (tree / ".github/workflows").glob("*.yml"))
    targets = set(re.findall(r"^([\w-]+):", (tree / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"run: make ([\w-]+)", text)) <= targets
    (parts,) = re.findall(r'make live PARTS="([\w ]+)"', text)
    assert [part for part in parts.split() if not (tree / "tests/live" / part).is_dir()] == []


@pytest.mark.parametrize("name", ACTIONS)
def test_an_action_hands_its_inputs_over_as_variables_alone(name: str, tree: Path) -> None:
    """An expression inside a script would execute code from the person who sets the input."""
    action = read(tree / f"actions/{name}/action.yml")
    assert action["runs"]["using"] == "composite"
    for step in action["runs"]["steps"]:
        (script,) = re.findall(r'^bash "\$GITHUB_ACTION_PATH/([\w.]+)"$', step["run"])
        assert (tree / "actions" / name / script).is_file()
    handed = {text for step in action["runs"]["steps"] for text in step["env"].values()}
    assert handed == {f"${{{{ inputs.{each} }}}}" for each in action["inputs"]}


def test_the_page_shows_inputs_and_outputs_that_the_actions_have(tree: Path) -> None:
    page = (tree / "docs/how-to/beside-a-job.md").read_text()
    (block,) = re.findall(r"^```yaml\n(jobs:.*?)^```$", page, re.MULTILINE | re.DOTALL)
    used = [step for step in yaml.safe_load(block)["jobs"]["test"]["steps"] if "groupmock/groupmock/actions/" in step.get("uses", "")]
    for name, step in zip(ACTIONS, used, strict=True):
        assert step["uses"] == f"groupmock/groupmock/actions/{name}@main"
        assert step["with"].keys() <= read(tree / f"actions/{name}/action.yml")["inputs"].keys()
    assert {f"`{each}`" for each in read(tree / "actions/start/action.yml")["outputs"]} <= set(re.findall(r"`\w+`", page))
