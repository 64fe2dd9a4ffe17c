"""Modules may not import each other in circles of more than two files; imports for type checkers count, because readers need both files."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import grimp
import pytest

from tools.gate.syntax_trees import tree_of

pytestmark = pytest.mark.xdist_group("syntax trees")

TREE = Path(__file__).resolve().parents[2]
PRODUCT = ("groupmock_codec", "groupmock", "groupmock_clients", "groupmock_pipeline")
CODE = ("codec", "broker", "clients", "pipeline", "tools", "benchmarks", "docker")
PAIR = 2
"""Two files may import each other, because a type and its container may be in separate files."""


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PRODUCT, cache_dir=None)


def circles(graph: grimp.ImportGraph, modules: Iterable[str]) -> list[list[str]]:
    """Return the sets of modules that import each other directly or indirectly."""
    among = sorted(modules)
    next_to = {module: sorted(graph.find_modules_directly_imported_by(module) & set(among)) for module in among}
    reached = {module: reach(module, next_to) for module in among}
    found = {frozenset(other for other in reached[module] if module in reached[other]) for module in among if module in reached[module]}
    return sorted(sorted(each) for each in found)


def reach(module: str, next_to: dict[str, list[str]]) -> set[str]:
    """Return the modules that a module imports directly or indirectly, including itself if it is part of a circle."""
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


def root(module: str) -> str:
    """Return the package of a module."""
    return module.partition(".")[0]


def test_no_more_than_two_files_of_the_product_need_each_other(graph: grimp.ImportGraph) -> None:
    assert {each: sum(root(module) == each for module in graph.modules) > 20 for each in PRODUCT} == dict.fromkeys(PRODUCT, True)
    found = circles(graph, graph.modules)
    assert [circle for circle in found if len(circle) > PAIR] == []
    assert [circle for circle in found if len({root(module) for module in circle}) > 1] == [], "between the packages there is none"


def test_packages_need_each_other_in_one_direction(graph: grimp.ImportGraph) -> None:
    roots = grimp.ImportGraph()
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            if root(module) != root(imported):
                roots.add_import(importer=root(module), imported=root(imported))
    assert circles(roots, roots.modules) == []


def private(file: Path) -> Iterator[str]:
    """Yield the names beginning with _ that a file imports from another file."""
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.ImportFrom):
            yield from (name.name for name in node.names if name.name.startswith("_") and not name.name.startswith("__"))


def test_what_a_file_keeps_to_itself_no_other_imports() -> None:
    files = sorted(file for part in CODE for file in (TREE / part).rglob("*.py"))
    assert len(files) > 400, "the code is looked for where it is"
    assert [f"{file.relative_to(TREE)}: {name}" for file in files for name in private(file)] == []
