"""Files that need each other are one file in two: typing imports count, since whoever reads the one has to read the other."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import grimp
import pytest

BROKER = Path(__file__).resolve().parents[2] / "broker"
PAIR = 2
"""A type and what holds it may be written apart and name each other."""


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("groupmock", cache_dir=None)


def circles(graph: grimp.ImportGraph, modules: Iterable[str]) -> list[list[str]]:
    """Sets of modules each of which reaches all the others by imports among `modules`."""
    among = sorted(modules)
    next_to = {module: sorted(graph.find_modules_directly_imported_by(module) & set(among)) for module in among}
    reached = {module: reach(module, next_to) for module in among}
    found = {frozenset(other for other in reached[module] if module in reached[other]) for module in among if module in reached[module]}
    return sorted(sorted(each) for each in found)


def reach(module: str, next_to: dict[str, list[str]]) -> set[str]:
    """What is imported from there, and from there, and so on; the module itself where that leads back."""
    reached: set[str] = set()
    ahead = [*next_to[module]]
    while ahead:
        if (each := ahead.pop()) not in reached:
            reached.add(each)
            ahead += next_to[each]
    return reached


def test_circles_are_found() -> None:
    made = grimp.ImportGraph()
    for importer, imported in (("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "e2"), ("e2", "e")):
        made.add_import(importer=importer, imported=imported)
    assert circles(made, made.modules) == [["a", "b", "c"], ["e", "e2"]]
    assert circles(made, ("a", "b", "d")) == []


def test_no_more_than_two_files_of_the_core_need_each_other(graph: grimp.ImportGraph) -> None:
    core = [module for module in graph.modules if module.startswith("groupmock.core.")]
    assert len(core) > 50, "the core is looked for where it is"
    assert [circle for circle in circles(graph, core) if len(circle) > PAIR] == []


def private(file: Path) -> Iterator[str]:
    """Names beginning with _ that a file takes from another one."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from (name.name for name in node.names if name.name.startswith("_") and not name.name.startswith("__"))


def test_what_a_file_keeps_to_itself_no_other_imports() -> None:
    files = sorted(BROKER.rglob("*.py"))
    assert [f"{file.relative_to(BROKER)}: {name}" for file in files for name in private(file)] == []
