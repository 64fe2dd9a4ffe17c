"""README says what the program says. Its code blocks are executed by the gate (tools/gate/readme_blocks.py)."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from groupmock.cli import serve, verbs
from groupmock.control.routes import ROUTES
from groupmock_pipeline import jobs
from tools.pages import readme_page


@pytest.fixture
def readme(tree: Path) -> str:
    return (tree / "README.md").read_text()


def test_the_tables_are_the_programs_and_the_probes(readme: str) -> None:
    assert readme_page.current(readme) == readme, "run `make docs`"


def test_the_flags_of_serve_are_the_programs(readme: str) -> None:
    parser = argparse.ArgumentParser()
    serve.add_arguments(parser)
    synopsis = readme[readme.index("    groupmock serve [") : readme.index("    groupmock run [")]
    known = {option for action in parser._actions for option in action.option_strings if option.startswith("--")} - {"--help"}
    assert set(re.findall(r"--[a-z-]+", synopsis)) == known


def test_every_verb_is_in_the_synopsis(readme: str) -> None:
    assert [verb for verb in verbs() if not re.search(rf"^    groupmock {verb}(?: \[|$)", readme, re.MULTILINE)] == []


def test_every_word_of_a_verb_is_in_the_synopsis(readme: str) -> None:
    words: dict[str, set[str]] = {"pipeline": set(jobs.names())}
    for route in ROUTES:
        if route.verb is not None:
            words.setdefault(route.verb[0], set()).add(route.verb[1])
    told = {verb: set(listed.split("|")) for verb, listed in re.findall(r"^    groupmock (\w+) \[([a-z|]+)\]", readme, re.MULTILINE)}
    assert told == words


def test_every_link_leads_to_a_file(readme: str, tree: Path) -> None:
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", readme) if "://" not in target]
    assert targets
    assert [target for target in targets if not (tree / target).exists()] == []


@pytest.mark.parametrize("document", ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_paths_that_documents_name_exist(document: str, tree: Path) -> None:
    text = (tree / document).read_text()
    named = set(re.findall(r"`((?:codec|broker|clients|tools|\.ci|docker|docs)/[\w./-]+)`", text))
    assert sorted(path for path in named if "NN" not in path and not (tree / path).exists()) == []
