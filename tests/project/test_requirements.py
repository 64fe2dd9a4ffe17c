"""pyproject.toml requires exactly the packages that the tree uses and writes each requirement in one way."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.gate.syntax_trees import tree_of

SINCE: Final = re.compile(r"\.\. versionadded:: *(\d+(?:\.\d+)*)")


@pytest.fixture(scope="module")
def said(tree: Path) -> dict[str, Any]:
    read: dict[str, Any] = tomllib.loads((tree / "pyproject.toml").read_text())
    return read


def requirements(lists: dict[str, list[Any]]) -> dict[str, list[Requirement]]:
    """Return the requirements of each list, without those of the groups that the list includes."""
    return {name: [Requirement(line) for line in lines if isinstance(line, str)] for name, lines in lists.items()}


@pytest.fixture(scope="module")
def extras(said: dict[str, Any]) -> dict[str, list[Requirement]]:
    return requirements(said["project"]["optional-dependencies"])


@pytest.fixture(scope="module")
def groups(said: dict[str, Any]) -> dict[str, list[Requirement]]:
    return requirements(said["dependency-groups"])


def oldest(wanted: Requirement) -> Version:
    """Return the oldest release that a requirement allows."""
    (lowest,) = [each.version for each in wanted.specifier if each.operator in (">=", "==")]
    return Version(lowest.removesuffix(".*"))


def test_every_list_that_asks_for_a_package_asks_for_the_same_oldest_release(
    extras: dict[str, list[Requirement]], groups: dict[str, list[Requirement]]
) -> None:
    asked: dict[str, dict[str, str]] = {}
    for name, wanted in (extras | groups).items():
        for each in wanted:
            asked.setdefault(each.name, {})[name] = str(oldest(each))
    assert asked["pyspark"].keys() == {"pipeline", "test"}
    assert {name: bounds for name, bounds in asked.items() if len(set(bounds.values())) > 1} == {}


def test_users_are_offered_no_list_of_ours(extras: dict[str, list[Requirement]], groups: dict[str, list[Requirement]]) -> None:
    """The packages for tests and the gate are dependency groups, which the wheel's metadata does not contain."""
    assert {"test", "dev"} <= groups.keys()
    assert extras.keys() & groups.keys() == set()
    tools = {each.name for name, wanted in groups.items() if name != "test" for each in wanted} | {"hypothesis", "import-linter"}
    assert {name for name, wanted in extras.items() if tools & {each.name for each in wanted}} == set()


def test_the_server_asks_for_no_kafka_client(said: dict[str, Any], extras: dict[str, list[Requirement]]) -> None:
    """Only the assignors pin a client's release, because the server must be installable next to any client."""
    clients = {"aiokafka", "kafka-python", "confluent-kafka"}
    assert clients & {Requirement(each).name for each in said["project"]["dependencies"]} == set()
    asking = {name: found for name, wanted in extras.items() if (found := clients & {each.name for each in wanted})}
    assert asking == {f"cooperative-{client}": {client} for client in ("aiokafka", "kafka-python")}


def test_every_python_of_the_classifiers_is_one_that_contributors_ci_tries(said: dict[str, Any], tree: Path) -> None:
    listed = {each.rsplit(" ", 1)[1] for each in said["project"]["classifiers"] if re.search(r":: 3\.\d+$", each)}
    workflow = yaml.safe_load((tree / ".github/workflows/ci.yml").read_text())
    assert set(workflow["jobs"]["test"]["strategy"]["matrix"]["python"]) == listed
    assert min(listed, key=Version) == said["project"]["requires-python"].removeprefix(">=")


def test_the_sample_consumers_of_the_image_have_the_releases_of_the_extras(extras: dict[str, list[Requirement]], tree: Path) -> None:
    pinned = {Requirement(each) for each in re.findall(r'"([\w-]+==[^"]+)"', (tree / "docker/Dockerfile").read_text())}
    assert pinned == {each for extra in ("cooperative-aiokafka", "cooperative-kafka-python") for each in extras[extra]}


def spark() -> tuple[ModuleType, list[type]]:
    """Return Spark's functions module and the classes whose methods the jobs call."""
    from pyspark import sql
    from pyspark.sql import functions, streaming

    return functions, [each for module in (sql, streaming) for each in vars(module).values() if isinstance(each, type)]


def called(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield location, receiver and name of every attribute in the modules of a folder."""
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.Attribute):
                yield f"{file.name}:{node.lineno}", node.value.id if isinstance(node.value, ast.Name) else "", node.attr


def since(found: Any) -> Version:
    """Return the Spark version that added a method according to its documentation, or 0 if it has no note."""
    told = SINCE.search(found.__doc__ or "")
    return Version(told[1]) if told else Version("0")


def test_what_the_pipeline_calls_of_spark_is_in_the_oldest_release_it_asks_for(extras: dict[str, list[Requirement]], tree: Path) -> None:
    """If several Spark classes have a method of that name, the oldest one counts."""
    functions, classes = spark()
    bound = oldest(next(each for each in extras["pipeline"] if each.name == "pyspark"))
    ages: dict[str, Version] = {}
    for place, owner, name in called(tree / "pipeline"):
        owners = [functions] if owner == "F" else classes
        if known := [since(getattr(each, name)) for each in owners if hasattr(each, name)]:
            ages[f"{place} {name}"] = min(known)
    assert len(ages) > 500
    assert {where: str(age) for where, age in ages.items() if age > bound} == {}


def test_spark_says_since_when_it_has_a_method() -> None:
    """If Spark's docstrings lost their versions, the check of the oldest Spark release could not fail."""
    from pyspark.sql import DataFrame

    assert (since(DataFrame.repartitionById), since(DataFrame.select)) == (Version("4.1"), Version("1.3"))


def test_the_verdict_belongs_to_one_release_of_every_package_that_is_asked_for(
    said: dict[str, Any], extras: dict[str, list[Requirement]], groups: dict[str, list[Requirement]], tree: Path
) -> None:
    """A new release of another package must not decide about our tree. `make newest` writes constraints.txt."""
    fixed = {
        canonicalize_name(name): release
        for name, release in (line.split("==") for line in (tree / "constraints.txt").read_text().splitlines())
    }
    asked = [Requirement(each) for each in said["project"]["dependencies"]]
    asked += [each for name, wanted in (extras | groups).items() if name != "pipeline-connect" for each in wanted]
    assert [str(each) for each in asked if not each.specifier.contains(fixed.get(canonicalize_name(each.name), "0"))] == []
