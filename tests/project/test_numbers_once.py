"""No module repeats an API key, an error code, a group state or a unit that the codec already declares."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from groupmock_codec import APIS, api_keys, error_codes, group_states, units
from tools.gate.syntax_trees import tree_of

pytestmark = pytest.mark.xdist_group("syntax trees")

TREE = Path(__file__).resolve().parents[2]
ROOTS = ("broker", "clients", "pipeline", "tools", "tests", "benchmarks", "docker")
TABLES = {
    name: value
    for table in (api_keys, error_codes, group_states, units)
    for name, value in vars(table).items()
    if name.isupper() and isinstance(value, int | str)
}
ALLOWED = {
    "broker/groupmock/core/transactions/states.py": "Empty is a state of a transaction there and of no group",
    "broker/groupmock/audit/rules/client_29_instance_id_everywhere.py": "SINCE tells which version brought a field, and not what is spoken",
    "broker/groupmock/core/groups/view.py": "a Literal type cannot be made of constants",
    "tools/gate/package_check.py": "it runs without the packages that it checks",
    "clients/groupmock_clients/simulation/judges/transactions.py": "Empty is a state of a transaction there and of no group",
    "clients/groupmock_clients/simulation/committed_reader.py": "it reads every profile in one version, without topic ids",
    "clients/groupmock_clients/simulation/consumer_plans.py": "LEAST tells which version brought the member epoch",
    "clients/groupmock_clients/simulation/transaction_plans.py": "it draws clients before and after KIP-890, which no profile describes",
    "docker/health.py": "it runs before the packages are imported, to be quick",
    "benchmarks/peers/floor.py": "it is a broker of its own, and its table is what it serves",
    "tests/unit/core/groups/test_load_and_unload.py": "PARTITION = 3 is a partition of __consumer_offsets and no error",
}


def constants(tree: ast.Module) -> Iterator[tuple[int, str, object]]:
    """Yield line, name and value of the literals that a module or class assigns to a name."""
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    for statement in (each for body in bodies for each in body):
        if isinstance(statement, ast.AnnAssign):
            pairs: list[tuple[ast.expr, ast.expr | None]] = [(statement.target, statement.value)]
        elif isinstance(statement, ast.Assign):
            target, value = statement.targets[0], statement.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=False))
        else:
            continue
        for name, literal in pairs:
            if isinstance(name, ast.Name) and isinstance(literal, ast.Constant):
                yield statement.lineno, name.id, literal.value


def is_copy(name: str, value: object) -> bool:
    """Return whether the constant repeats an entry of the codec's tables, also under a part of its name (JOIN for JOIN_GROUP)."""
    words = set(name.strip("_").split("_"))
    return any(type(known) is type(value) and known == value and words <= set(full.split("_")) for full, known in TABLES.items())


def key_of(node: ast.expr | None) -> int | None:
    """Return the API key of an expression that is a number or a constant of api_keys."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int and node.value in APIS else None
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return vars(api_keys).get(name) if name.isupper() else None


STATES = {value for name, value in vars(group_states).items() if name.isupper()}
NUMBERED = {"error_code", "error", "api_key"}
USERS_VIEW = ("tests/", "tools/fidelity/families/")
"""Folders that may write states and numbers in place: tests show what a user sees, and the fidelity tools use words that are not states."""


def literals(tree: ast.Module) -> Iterator[tuple[int, object]]:
    """Yield line and value of literal group states and of numbers above 1 that are compared with an error code or API key."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in STATES:
            yield node.lineno, node.value
        elif isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            names = {getattr(part, "attr", getattr(part, "id", "")) for side in sides for part in (side, *ast.iter_child_nodes(side))}
            names |= {side.slice.value for side in sides if isinstance(side, ast.Subscript) and isinstance(side.slice, ast.Constant)}
            if names & NUMBERED and not any(isinstance(operator, ast.Lt | ast.Gt | ast.LtE | ast.GtE) for operator in node.ops):
                parts = (part for side in sides for part in (side, *ast.iter_child_nodes(side)))
                numbers = (part for part in parts if isinstance(part, ast.Constant) and type(part.value) is int)
                yield from ((node.lineno, number.value) for number in numbers if number.value not in (-1, 0, 1))


def is_version(node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return all(isinstance(part, ast.Constant) and type(part.value) is int and 0 <= part.value < 30 for part in parts)


def version_tables(tree: ast.Module) -> Iterator[int]:
    """Yield the lines of module-level dicts from API keys to versions. A dict with bare numbers counts only if its name contains
    "version"."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, ast.Dict) and len(statement.value.keys) > 1:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            name = target.id if isinstance(target, ast.Name) else ""
            bare = all(isinstance(key, ast.Constant) for key in statement.value.keys)
            said = any(word in name for word in ("VERSION", "HIGHEST", "NEWEST"))
            keys = all(key_of(key) is not None for key in statement.value.keys)
            if keys and (said or not bare) and all(map(is_version, statement.value.values)):
                yield statement.lineno


@cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    paths = [path for root in ROOTS for path in sorted((TREE / root).rglob("*.py")) if "node_modules" not in path.parts]
    shown = [(path.relative_to(TREE).as_posix(), path) for path in paths]
    return tuple((name, tree_of(path)) for name, path in shown if "tests/interop" not in name and name not in ALLOWED)


def test_no_module_declares_a_number_or_name_of_the_codec_again() -> None:
    named = [(file, *constant) for file, tree in modules() for constant in constants(tree)]
    copies = [f"{file}:{line} {name} = {value!r}" for file, line, name, value in named if is_copy(name, value)]
    assert copies == [], "import it from groupmock_codec"


def test_no_module_has_a_table_of_versions_beside_the_profiles() -> None:
    tables = [f"{file}:{line}" for file, tree in modules() if "/config/profiles/" not in file for line in version_tables(tree)]
    assert tables == [], "ask groupmock.rig.versions or the profile"


def test_no_module_of_the_product_writes_a_state_or_error_in_place() -> None:
    judged = [(file, tree) for file, tree in modules() if not file.startswith(USERS_VIEW)]
    written = [f"{file}:{line} {value!r}" for file, tree in judged if file not in ALLOWED for line, value in literals(tree)]
    assert written == [], "import it from groupmock_codec"


@pytest.mark.parametrize("line", ["if group.state == 'Stable': ...", "if answer['error_code'] in (0, 79): ...", "beat = row.api_key == 12"])
def test_a_planted_literal_is_found(line: str) -> None:
    assert len(list(literals(ast.parse(line)))) == 1


@pytest.mark.parametrize("line", ["JOIN: Final = 11", "JOIN, SYNC = 11, 14", "NS_PER_MS = 1_000_000", "PREPARING = 'PreparingRebalance'"])
def test_a_planted_constant_is_found(line: str) -> None:
    assert all(is_copy(name, value) for _, name, value in constants(ast.parse(line)))
    assert list(constants(ast.parse(line)))


@pytest.mark.parametrize("line", ["VERSIONS = {11: 5, 14: 3}", "RANGES = {JOIN_GROUP: (2, 9), SYNC_GROUP: (0, 5)}"])
def test_a_planted_table_of_versions_is_found(line: str) -> None:
    assert list(version_tables(ast.parse(line))) == [1]


@pytest.mark.parametrize("line", ["GENERATION = 11", "COSTS = {11: 5, 14: 3}"])
def test_another_number_is_no_copy(line: str) -> None:
    tree = ast.parse(line)
    assert not any(is_copy(name, value) for _, name, value in constants(tree)) and not list(version_tables(tree))
