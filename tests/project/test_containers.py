"""Checks the files of docker/ as far as possible without a container engine; `docker/try` runs the containers."""

from __future__ import annotations

import argparse
import ast
import re
import socket
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from docker import health
from packaging.requirements import Requirement

from groupmock import Broker
from groupmock.cli import serve
from tools.gate.syntax_trees import tree_of

PATIENCE = 60


@pytest.fixture
def compose(tree: Path) -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load((tree / "docker/compose.yaml").read_text())
    return parsed


@pytest.fixture
def dockerfile(tree: Path) -> str:
    return (tree / "docker/Dockerfile").read_text()


@pytest.fixture
def ignorefile(tree: Path) -> str:
    return (tree / "docker/Dockerfile.dockerignore").read_text()


def accepted(words: list[str]) -> argparse.Namespace:
    """Return the flags that `groupmock serve` parses from these words. It raises SystemExit when it refuses them."""
    assert words[0] == "serve"
    parser = argparse.ArgumentParser()
    serve.add_arguments(parser)
    return parser.parse_args(words[1:])


def json_form(dockerfile: str, instruction: str) -> list[str]:
    """Return the words of the last CMD or ENTRYPOINT in exec form."""
    found = re.findall(rf"^{instruction} (\[.*\])$", dockerfile, re.MULTILINE)
    words: list[str] = yaml.safe_load(found[-1])
    return words


def stages(dockerfile: str) -> dict[str, str]:
    """Return the text of each build stage by name; the first line has the words after FROM."""
    found = re.findall(r"^FROM (\S+ AS (\S+)\n.*?)(?=^FROM |\Z)", dockerfile, re.MULTILINE | re.DOTALL)
    return {name: text for text, name in found}


def installed(stage: str) -> set[str]:
    """Return the extras with which a stage installs groupmock."""
    (extras,) = re.findall(r'pip install --no-cache-dir[ \\\n]+"\.\[([\w,-]+)\]"', stage)
    return set(extras.split(","))


@pytest.fixture
def said(tree: Path) -> dict[str, Any]:
    read: dict[str, Any] = tomllib.loads((tree / "pyproject.toml").read_text())
    return read


def test_the_compose_file_is_a_server_and_two_consumers_of_different_libraries(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {"kafka", "producer", "aiokafka", "kafka-python"}
    for name, service in compose["services"].items():
        assert service["build"]["dockerfile"] == "docker/Dockerfile", name


def test_the_compose_files_server_flags_are_the_programs(compose: dict[str, Any]) -> None:
    flags = accepted(compose["services"]["kafka"]["command"])
    assert (flags.host, flags.advertise) == ("0.0.0.0", "kafka:9092"), "the service's name is its address for the others"


def test_every_script_the_compose_file_runs_is_in_the_image(compose: dict[str, Any], tree: Path) -> None:
    scripts = [word for service in compose["services"].values() for word in service["command"] if word.endswith(".py")]
    assert len(scripts) == 3
    assert [script for script in scripts if not (tree / "docker" / script.lstrip("/")).is_file()] == []


def test_the_images_default_command_is_accepted(dockerfile: str) -> None:
    assert json_form(dockerfile, "ENTRYPOINT") == ["groupmock"]
    flags = accepted(json_form(dockerfile, "CMD"))
    assert flags.host == "0.0.0.0"
    assert flags.advertise


def test_every_stage_that_runs_something_has_an_ordinary_user(dockerfile: str) -> None:
    for stage in stages(dockerfile).values():
        if "ENTRYPOINT" in stage:
            assert re.search(r"^USER [1-9]\d*$", stage, re.MULTILINE), stage


def copied(stage: str) -> list[str]:
    """Return the paths of the checkout that the stage's COPY lines name."""
    return [source for line in re.findall(r"^COPY (?!--from)(.*)$", stage, re.MULTILINE) for source in line.split()[:-1]]


def test_what_the_dockerfile_copies_is_there_and_not_ignored(dockerfile: str, ignorefile: str, tree: Path) -> None:
    allowed = {line[1:] for line in ignorefile.splitlines() if line.startswith("!")}
    assert copied(dockerfile)
    assert [source for source in copied(dockerfile) if not (tree / source).exists() or source not in allowed] == []


def test_the_image_is_built_from_every_package_of_the_wheel(dockerfile: str, said: dict[str, Any], tree: Path) -> None:
    """hatchling silently leaves a package without a folder out of the wheel, and the verb of that package then ends with a traceback."""
    folders = {source for source in copied(stages(dockerfile)["build"]) if (tree / source).is_dir()}
    assert folders == {package.split("/")[0] for package in said["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]}


def test_the_image_has_every_extra_of_a_verb_and_the_pipeline_one_of_its_own(dockerfile: str, said: dict[str, Any]) -> None:
    """The extra `pytest` is in no image, because the plug-in runs next to the user's tests."""
    found = {name: installed(stage) for name, stage in stages(dockerfile).items() if '".[' in stage}
    assert found.keys() == {"build", "build-pipeline"}
    assert found["build-pipeline"] == {"pipeline", "pipeline-connect"}
    assert found["build"] == said["project"]["optional-dependencies"].keys() - {"pytest", *found["build-pipeline"]}


def imported(folder: Path) -> dict[str, str]:
    """Return each third-party module that the files import, also inside functions, with a file that imports it."""
    found: dict[str, str] = {}
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.Import):
                names = [each.name for each in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            else:
                continue
            found |= {top: file.name for name in names if (top := name.split(".")[0]) not in sys.stdlib_module_names}
    return {module: file for module, file in found.items() if not module.startswith("groupmock")}


MODULE_OF = {"google-crc32c": "google_crc32c", "kafka-python": "kafka", "prometheus-client": "prometheus_client", "pyyaml": "yaml"}
IN_NO_IMAGE = {
    # pytest is not installed in images: only the pytest plug-in of groupmock imports pytest, and pytest itself loads the plug-in.
    "pytest",
    "pytest_html",  # The plug-in imports pytest-html only if it is installed.
    "compression",  # The module `compression` needs no installation, because it is part of Python since 3.14.
    "confluent_kafka",  # `scenario --live --protocol NAME/confluent-kafka` itself reports that confluent-kafka is missing.
}


@pytest.mark.parametrize(("stage", "folders"), [("build", ["codec", "broker", "clients"]), ("build-pipeline", ["pipeline"])])
def test_what_the_verbs_of_an_image_import_is_installed_in_it(
    stage: str, folders: list[str], dockerfile: str, said: dict[str, Any], tree: Path
) -> None:
    found = stages(dockerfile)
    extras = set().union(*(installed(found[name]) for name in {"build", stage}))
    lists = [said["project"]["dependencies"], *(said["project"]["optional-dependencies"][extra] for extra in extras)]
    names = {Requirement(each).name for wanted in lists for each in wanted}
    there = {MODULE_OF.get(name, name) for name in names} | IN_NO_IMAGE
    wanted = {module: file for folder in folders for module, file in imported(tree / folder).items()}
    assert wanted, folders
    assert {module: file for module, file in wanted.items() if module not in there} == {}


@pytest.mark.parametrize(("image", "stage"), [("server", "build"), ("pipeline", "build-pipeline")])
def test_an_image_is_the_common_ground_and_what_its_stage_installed(image: str, stage: str, dockerfile: str) -> None:
    assert stages(dockerfile)[image].splitlines()[:2] == [f"ground AS {image}", f"COPY --from={stage} /opt/groupmock /opt/groupmock"]
    assert list(stages(dockerfile))[-1] == "server", "it is what a build without --target gives"


def test_the_probe_finds_a_server_that_answers() -> None:
    with Broker() as broker:
        assert health.main([broker.bootstrap]) == 0


def test_the_probe_says_that_nobody_listens(capsys: pytest.CaptureFixture[str]) -> None:
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        assert health.main([address]) == 1
    assert address in capsys.readouterr().err


def test_the_probe_does_not_take_a_closed_connection_for_an_answer(tree: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with subprocess.Popen([sys.executable, str(tree / "docker/health.py"), address], stderr=subprocess.PIPE, text=True) as probe:
            connection, _ = listener.accept()
            connection.recv(14, socket.MSG_WAITALL)
            connection.close()
            _out, err = probe.communicate(timeout=PATIENCE)
    assert probe.returncode == 1
    assert "before it had answered" in err
