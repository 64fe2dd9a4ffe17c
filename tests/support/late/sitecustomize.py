"""Makes a server slow without changing its code: with this folder on PYTHONPATH, chosen functions sleep when a test first calls them.

Python runs `sitecustomize` when it starts, so that a pytest process, its workers and every `python -m groupmock` of a test have it.
$GROUPMOCK_LATE is a file of JSON: `places` (each "module:Class.function"), `seconds` to sleep (0: only log), and `log`, a file that gets a
line `place TAB test` for each first call. Functions on the main thread of pytest are never late: there run the test and cores without a
server. `make search` (tools/search/late.py) chooses the places.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.abc
import importlib.machinery
import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

VARIABLE: Final = "GROUPMOCK_LATE"
LATE: dict[str, Any] = {}
STARTED_BY: Final = os.environ.get("PYTEST_CURRENT_TEST", "")
"""The test that started this process; empty in a process that runs tests itself. A process that does both keeps this value."""
STRUCK: Final[set[tuple[str, str]]] = set()


def strike(place: str) -> None:
    """Sleep and log, as the first statement of a function that was made slow."""
    test = (STARTED_BY or os.environ.get("PYTEST_CURRENT_TEST", "")).rpartition(" ")[0]
    if (place, test) in STRUCK or not on_a_server():
        return
    STRUCK.add((place, test))
    # Writing the log may fail, because a test may limit the size of files.
    with contextlib.suppress(OSError), open(LATE["log"], "a", encoding="utf-8") as log:
        log.write(f"{place}\t{test}\n")
    if LATE["seconds"]:
        time.sleep(LATE["seconds"])


def on_a_server() -> bool:
    if threading.current_thread() is not threading.main_thread():
        return threading.current_thread().name == "groupmock"
    return getattr(sys.modules["__main__"].__spec__, "name", "") == "groupmock.__main__"


def planted(tree: ast.Module, module: str, places: frozenset[str]) -> ast.Module:
    """Return the module with a call of `strike` at the start of the chosen functions, after their docstrings."""
    for qualname, function in functions(tree):
        if f"{module}:{qualname}" in places:
            documented = ast.get_docstring(function, clean=False) is not None
            call = ast.parse(f"__import__('sitecustomize').strike({f'{module}:{qualname}'!r})").body[0]
            for node in ast.walk(call):
                ast.copy_location(node, function.body[0])
            function.body.insert(int(documented), call)
    return tree


def functions(tree: ast.Module | ast.ClassDef, prefix: str = "") -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    found: list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append((prefix + node.name, node))
        elif isinstance(node, ast.ClassDef):
            found += functions(node, f"{prefix}{node.name}.")
    return found


class Loader(SourceFileLoader):
    """Compiles a module with the calls of `strike` inserted. It never reads or writes a .pyc."""

    def get_code(self, fullname: str) -> CodeType:
        tree = planted(ast.parse(self.get_data(self.path), self.path), fullname, LATE["places"])
        return compile(tree, self.path, "exec", dont_inherit=True)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that contain a chosen function."""

    def __init__(self, modules: frozenset[str]) -> None:
        self.modules = modules

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the usual spec with the inserting loader."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname in self.modules else None
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


def install(plan: Path) -> None:
    """Make the chosen functions slow from now on."""
    LATE.update(json.loads(plan.read_text(encoding="utf-8")))
    LATE["places"] = frozenset(LATE["places"])
    sys.meta_path.insert(0, Finder(frozenset(place.partition(":")[0] for place in LATE["places"])))


if VARIABLE in os.environ:
    install(Path(os.environ[VARIABLE]))
