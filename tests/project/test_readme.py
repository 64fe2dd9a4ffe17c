"""README and the pages in the root folder agree with the program. Their code blocks are executed by the gate
(tools/gate/readme_blocks.py)."""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path

import pytest

from groupmock.cli import serve, verbs
from groupmock.control.routes import ROUTES
from groupmock_pipeline import jobs

REPOSITORY = "https://github.com/groupmock/groupmock/"
LONGEST = 150


@pytest.fixture
def readme(tree: Path) -> str:
    return (tree / "README.md").read_text()


@pytest.fixture
def verbs_page(tree: Path) -> str:
    return (tree / "docs/reference/command-line.md").read_text()


def test_readme_is_short(readme: str) -> None:
    assert readme.count("\n") < LONGEST


def test_the_flags_of_serve_are_the_programs(verbs_page: str) -> None:
    parser = argparse.ArgumentParser()
    serve.add_arguments(parser)
    synopsis = verbs_page[verbs_page.index("    groupmock serve [") : verbs_page.index("    groupmock run [")]
    known = {option for action in parser._actions for option in action.option_strings if option.startswith("--")} - {"--help"}
    assert set(re.findall(r"--[a-z-]+", synopsis)) == known


def test_every_verb_is_in_the_synopsis(verbs_page: str) -> None:
    assert [verb for verb in verbs() if not re.search(rf"^    groupmock {verb}(?: \[|$)", verbs_page, re.MULTILINE)] == []


def test_every_word_of_a_verb_is_in_the_synopsis(verbs_page: str) -> None:
    words: dict[str, set[str]] = {"pipeline": set(jobs.names())}
    for route in ROUTES:
        if route.verb is not None:
            words.setdefault(route.verb[0], set()).add(route.verb[1])
    told = {
        verb: set(listed.split("|")) for verb, listed in re.findall(r"^    groupmock (\w+) \[([a-z][a-z|-]*)\]", verbs_page, re.MULTILINE)
    }
    assert told == words


def test_every_link_of_readme_leads_to_a_file_of_the_checkout(readme: str, tree: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", readme)
    assert targets
    assert [target for target in targets if not (tree / target).exists()] == []


def test_the_packages_page_has_absolute_links(readme: str, tree: Path) -> None:
    """The package page on PyPI has no files next to it, so its links must be absolute. This test applies the replacements that
    pyproject.toml configures; tools/gate/package_check.py checks the wheel."""
    said = tomllib.loads((tree / "pyproject.toml").read_text())
    page = readme
    for each in said["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        page = re.sub(each["pattern"], each["replacement"], page)
    links, pictures = re.findall(r"(?<!!)\[[^\]]*\]\(([^)]+)\)", page), re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page)
    assert pictures and [target for target in pictures if not target.startswith(f"{REPOSITORY}raw/main/docs/")] == []
    assert links and [target for target in links if not target.startswith(f"{REPOSITORY}blob/main/")] == []
    assert {f"{url}/".startswith(REPOSITORY) for url in said["project"]["urls"].values()} == {True}


@pytest.mark.parametrize("document", ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_paths_that_documents_name_exist(document: str, tree: Path) -> None:
    text = (tree / document).read_text()
    named = set(re.findall(r"`((?:codec|broker|clients|tools|\.ci|docker|docs)/[\w./-]+)`", text))
    assert sorted(path for path in named if "NN" not in path and not (tree / path).exists()) == []
