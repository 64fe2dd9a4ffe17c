"""The imports obey the table in pyproject.toml, and the contract type finds violations."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import pytest

from tools.gate import contracts


@pytest.fixture(scope="session")
def table(tree: Path) -> dict[str, tuple[str, ...]]:
    listed = tomllib.loads((tree / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    read: dict[str, tuple[str, ...]] = contracts.read_table(next(each["parts"] for each in listed if each["id"] == "arrows"))
    return read


def test_the_tree_keeps_its_contracts(tree: Path) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"], cwd=tree, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    contracts = tomllib.loads((tree / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert f"{len(contracts)} kept, 0 broken" in done.stdout


@pytest.mark.parametrize(
    ("importer", "imported", "may"),
    [
        ("groupmock_codec.frame", "groupmock", False),
        ("groupmock_codec.frame", "groupmock_codec.errors", True),
        ("groupmock.core.groups.classic.group", "groupmock_codec.errors", True),
        ("groupmock.core.groups.classic.group", "groupmock.journal.rows", False),
        ("groupmock.core.groups.classic.group", "groupmock.net.server", False),
        ("groupmock.core.groups.classic.group", "groupmock", False),
        ("groupmock.journal.file", "groupmock.journal.rows", True),
        ("groupmock.journal.rows", "groupmock_codec", False),
        ("groupmock.faults.plan", "groupmock_codec", False),
        ("groupmock.faults.kinds.delay", "groupmock.faults.plan", True),
        ("groupmock.faults.kinds.delay", "groupmock.net.driver", False),
        ("groupmock.watch.log", "groupmock.journal.rows", True),
        ("groupmock.watch.log", "groupmock.core.groups.classic.group", False),
        ("groupmock_pipeline.schema", "groupmock.journal.rows", True),
        ("groupmock_pipeline.schema", "groupmock.journal.file", False),
        ("groupmock.net.driver", "groupmock.core.cluster", True),
        ("groupmock.net.driver", "groupmock_clients.pytest_plugin", False),
        ("groupmock_clients.cooperative.policy", "groupmock_codec.embedded.designs", True),
        ("groupmock_clients.cooperative.policy", "groupmock.core.timers", False),
        ("groupmock_clients.pytest_plugin", "groupmock.inprocess.broker", True),
        ("groupmock_clients.scenarios.table", "tools.records", False),
        ("tools.fidelity.families", "tools.pages.all_pages", False),
        ("tools.pages.scenarios_page", "groupmock_clients.scenarios.table", True),
        ("tools.story_check.judge", "groupmock.journal.rows", True),
        ("tools.story_check.judge", "groupmock.story.teller", False),
        ("tools.story_check.judge", "groupmock.rounds", False),
        ("tools.story_check.trial", "groupmock.story.teller", True),
    ],
)
def test_the_table_says(table: dict[str, tuple[str, ...]], importer: str, imported: str, may: bool) -> None:
    assert contracts.allowed(contracts.part_of(importer, table), imported, table) is may


def checked(rows: list[str], *imports: tuple[str, str]) -> list[str]:
    """Return the violations that the contract finds in a made-up import graph."""
    graph = grimp.ImportGraph()
    for importer, imported in imports:
        for module in (importer, imported):
            graph.add_module(module)
        graph.add_import(importer=importer, imported=imported, line_number=7, line_contents=f"import {imported}")
    contract = contracts.ArrowsContract(name="made up", session_options={}, contract_options={"name": "made up", "parts": rows})
    found: list[str] = contract.check(graph, verbose=False).metadata["broken"]
    return found


def test_an_import_against_an_arrow_is_named_with_its_line() -> None:
    found = checked(["a ->", "a.* -> a", "b -> a"], ("a.x", "b"))
    assert found == ["a.x (line 7) imports b, which a.* may not"]


def test_an_import_along_an_arrow_and_one_of_a_stranger_are_free() -> None:
    assert checked(["a ->", "b -> a"], ("b", "a"), ("a", "asyncio")) == []


def test_a_module_without_a_row_breaks_the_contract() -> None:
    assert checked(["a ->", "a.x ->"], ("a.y", "a.x")) == ["a.y belongs to no part of the table"]


def test_a_row_without_an_arrow_is_refused() -> None:
    with pytest.raises(ValueError, match="a row of the import table reads"):
        contracts.read_table(["a b"])


def test_every_row_is_about_a_part_that_is_there(table: dict[str, tuple[str, ...]], tree: Path) -> None:
    """Every row of the table of imports must name an existing part; the table once had a row for an audit module that did not exist."""
    roots = [tree / folder for folder in ("codec", "broker", "clients", "pipeline", ".")]
    named = {name.removesuffix(".*") for row in table.items() for name in (row[0], *row[1])}
    paths = {name: name.replace(".", "/") for name in named}
    assert [name for name, at in paths.items() if not any((root / at).is_dir() or (root / f"{at}.py").is_file() for root in roots)] == []


def test_no_circle_of_files_around_the_driver_is_larger_than_two() -> None:
    """Imports for type checkers count, because a file that needs five others to be understood should not be separate."""
    graph = grimp.build_graph("groupmock", exclude_type_checking_imports=False, cache_dir=None)
    net = {name for name in graph.modules if name.startswith("groupmock.net.")}
    reached = {name: graph.find_upstream_modules(name) & net for name in net}
    circles = {frozenset((name, *(other for other in reached[name] if name in reached[other]))) for name in net}
    assert [sorted(circle) for circle in circles if len(circle) > 2] == []
