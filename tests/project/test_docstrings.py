"""Functions raise the exceptions that their docstrings name, as far as their own lines show it."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from tools.gate.syntax_trees import tree_of

pytestmark = pytest.mark.xdist_group("syntax trees")
TREE: Final = Path(__file__).resolve().parents[2]
PACKAGES: Final = ("codec/groupmock_codec", "broker/groupmock", "clients/groupmock_clients", "pipeline/groupmock_pipeline")
RAISES: Final = re.compile(r"\bRaises ((?:\w+\.)*[A-Z]\w*[a-z].*)", re.DOTALL)
"""Matches the phrase in a docstring that names an exception. The class may be missing if a RecordsError is named by its code."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def promised(function: Function) -> set[str]:
    """Return the exception classes that the docstring names, possibly with other capitalized words."""
    found = RAISES.search(ast.get_docstring(function) or "")
    return set(re.findall(r"\b[A-Z]\w+", found[1])) if found else set()


def raised(node: ast.AST) -> Iterator[str]:
    """Return the names of the classes that the code below `node` raises and does not catch."""
    if isinstance(node, ast.Try):
        caught = {name.id for handler in node.handlers if handler.type for name in ast.walk(handler.type) if isinstance(name, ast.Name)}
        yield from (name for line in node.body for name in raised(line) if name not in caught)
        parts: list[ast.AST] = [*node.handlers, *node.orelse, *node.finalbody]
    else:
        parts = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Raise) and node.exc is not None:
        made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if isinstance(made, ast.Name) and made.id[0].isupper():
            yield made.id
    for part in parts:
        if not isinstance(part, Function):
            yield from raised(part)


def kept(name: str, promises: set[str], module: str) -> bool:
    """Return whether the docstring names the class or one of its base classes."""
    if name in promises:
        return True
    known = getattr(import_module(module), name, None) or getattr(builtins, name, None)
    return isinstance(known, type) and bool({base.__name__ for base in known.__mro__} & promises)


def broken(tree: ast.Module, module: str) -> list[str]:
    """Return the functions of a module that raise an exception without naming it in their docstring."""
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    return [
        f"{function.name} raises {name}, it says {', '.join(sorted(promises))}"
        for function in functions
        if (promises := promised(function))
        for name in sorted(set(raised(function)))
        if not kept(name, promises, module)
    ]


def modules() -> list[tuple[str, Path]]:
    """Return dotted name and file of every module of the product."""
    found = []
    for package in PACKAGES:
        root = (TREE / package).parent
        for file in sorted((TREE / package).rglob("*.py")):
            parts = file.relative_to(root).with_suffix("").parts
            found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), file))
    return found


def test_a_function_raises_what_its_docstring_says() -> None:
    """The docstring in faults/kinds/error.py once named ValidationError although the code raised ValueError."""
    found = {module: wrong for module, file in modules() if (wrong := broken(tree_of(file), module))}
    assert found == {}


@pytest.mark.parametrize(
    ("body", "fine"),
    [
        ("raise ValueError('x')", False),
        ("raise KeyError('x')", True),
        ("raise IndexError('x')", False),
        ("try:\n        raise ValueError('x')\n    except ValueError:\n        raise KeyError('x') from None", True),
        ("try:\n        pass\n    except KeyError:\n        raise ValueError('x') from None", False),
        ("def inner():\n        raise ValueError('x')\n    return inner", True),
    ],
)
def test_what_counts_as_raised(body: str, fine: bool) -> None:
    source = f'def function():\n    """Does. Raises KeyError where there is none."""\n    {body}\n'
    assert (broken(ast.parse(source), "builtins") == []) is fine


def test_a_case_of_the_promised_class_keeps_the_promise() -> None:
    assert broken(ast.parse('def function():\n    """Raises LookupError."""\n    raise KeyError("x")\n'), "builtins") == []
