"""docs/how-to/find-your-way.md names existing paths and covers as many behaviours and additions as it promises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from groupmock.config.declared import all_settings
from groupmock.core.apis import module_names
from groupmock_codec import APIS

BEHAVIOURS, ADDITIONS = 25, 9
ROOTS = ("codec", "broker", "clients", "pipeline", "tests", "tools", "docs", "benchmarks", "docker", "examples", "actions", ".ci")
PATH = re.compile(rf"`((?:{'|'.join(map(re.escape, ROOTS))})/[\w./-]*|mkdocs\.yml|[A-Z]+\.md)`")


@pytest.fixture
def page(tree: Path) -> str:
    return (tree / "docs/how-to/find-your-way.md").read_text()


def part(page: str, heading: str) -> str:
    """Return the text below a second-level heading."""
    return page.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def test_every_path_exists(page: str, tree: Path) -> None:
    named = PATH.findall(page)
    assert named
    assert sorted({path for path in named if not (tree / path).exists()}) == []


def test_a_folder_is_written_with_a_slash_and_a_file_without(page: str, tree: Path) -> None:
    assert [path for path in PATH.findall(page) if (tree / path).exists() and (tree / path).is_dir() != path.endswith("/")] == []


def test_behaviours_are_as_many_as_promised_and_each_names_a_path(page: str) -> None:
    rows = [line for line in part(page, "Where does X live").splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= BEHAVIOURS
    assert [row for row in rows if not PATH.search(row)] == []


def test_every_request_and_every_setting_of_kafka_can_be_found_by_its_name(page: str) -> None:
    words = set(re.findall(r"[\w.]+", part(page, "In Kafka's words")))
    requests = {APIS[key].name for key in module_names()}
    settings = {name for name in all_settings() if not name.startswith("groupmock.")}
    assert sorted((requests | settings) - words) == []


def test_additions_are_as_many_as_promised_and_each_names_a_path(page: str) -> None:
    kinds = re.split(r"^### ", part(page, "What do I touch to add Y"), flags=re.MULTILINE)[1:]
    assert len(kinds) >= ADDITIONS
    assert [kind.splitlines()[0] for kind in kinds if not PATH.search(kind)] == []
