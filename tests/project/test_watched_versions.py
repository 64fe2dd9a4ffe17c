"""The dependency bot watches every folder with a list of packages from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
import yaml

MANIFESTS: Final = {"gomod": "go.mod", "npm": "package.json", "maven": "pom.xml", "docker": "Dockerfile", "pip": "pyproject.toml"}
ROOTS: Final = ("benchmarks", "docker", "examples", "tests")


@pytest.fixture(scope="module")
def watched(tree: Path) -> dict[str, set[str]]:
    """Return the watched folders of each ecosystem."""
    updates = yaml.safe_load((tree / ".github/dependabot.yml").read_text())["updates"]
    return {each["package-ecosystem"]: set(each["directories"]) for each in updates}


def test_every_folder_with_a_manifest_is_watched(tree: Path, watched: dict[str, set[str]]) -> None:
    for ecosystem, name in MANIFESTS.items():
        files = [*tree.glob(name), *(file for root in ROOTS for file in (tree / root).rglob(name))]
        folders = {f"/{file.parent.relative_to(tree).as_posix()}".replace("/.", "/") for file in files if "node_modules" not in file.parts}
        assert watched[ecosystem] == folders, ecosystem


def test_every_folder_with_an_action_is_watched(tree: Path, watched: dict[str, set[str]]) -> None:
    folders = {f"/{file.parent.relative_to(tree).as_posix()}" for file in (tree / "actions").rglob("action.y*ml")}
    assert watched["github-actions"] == {"/", *folders}
