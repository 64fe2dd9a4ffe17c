"""The tree obeys its own rules: one file per API, short modules and functions, docstrings, and no paths of this machine."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tools.gate.syntax_trees import tree_of
from tools.pages.all_pages import PAGES

pytestmark = pytest.mark.xdist_group("syntax trees")

TREE = Path(__file__).resolve().parents[2]
ROOTS = {"codec": "groupmock_codec", "broker": "groupmock", "clients": "groupmock_clients", "pipeline": "groupmock_pipeline"}
FOLDERS = (*ROOTS, "tests", "tools", "docker", "docs", "benchmarks", ".ci")
GENERATED = ("__pycache__", "node_modules", "target", ".mypy_cache", "out")
LONGEST_MODULE, LONGEST_FUNCTION = 450, 60
"""Maximum number of lines for a module and for a function, above which somebody must look. Length follows the idea: no class is cut in
two to fit a number."""
TEXT = {".py", ".exchange", ".toml", ".md", ".txt", ".yaml", ".sh", ".json", ".js", ".mjs", ".go", ".mod", ".sum", ".java", ".xml", ""}


def files(*folders: str) -> Iterator[Path]:
    """Yield the files below these folders, except those that tools generate."""
    for folder in folders:
        for file in sorted((TREE / folder).rglob("*")):
            if file.is_file() and not set(file.relative_to(TREE).parts) & set(GENERATED):
                yield file


@cache
def modules() -> tuple[tuple[Path, ast.Module], ...]:
    """Return every module of the product and the tools with its syntax tree."""
    return tuple((file, tree_of(file)) for file in files(*ROOTS, "tools") if file.suffix == ".py")


def functions(body: Iterable[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions of a module, of its classes and inside functions, without visiting every expression."""
    for each in body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield each
        for name in ("body", "orelse", "finalbody"):
            yield from functions(getattr(each, name, ()))


def shown(file: Path) -> str:
    return file.relative_to(TREE).as_posix()


def public(file: Path) -> bool:
    return not any(part.startswith("_") and part != "__init__.py" for part in file.parts)


def test_every_root_holds_one_package_of_its_own_name_and_nothing_else() -> None:
    held = {root: sorted(each.name for each in (TREE / root).iterdir() if each.name not in GENERATED) for root in ROOTS}
    assert held == {root: [package] for root, package in ROOTS.items()}


@pytest.mark.parametrize(("root", "package"), ROOTS.items())
def test_every_package_says_that_it_is_typed(root: str, package: str) -> None:
    assert (TREE / root / package / "py.typed").is_file()


def test_every_folder_with_modules_is_a_regular_package() -> None:
    """Some type checkers and packagers ignore an accidental namespace package."""
    folders = {file.parent for file, _ in modules()}
    assert [shown(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_every_public_module_has_a_docstring() -> None:
    assert [shown(file) for file, tree in modules() if public(file) and not ast.get_docstring(tree)] == []


def test_the_house_has_a_line_for_every_folder_of_the_tree() -> None:
    """CONTRIBUTING once lacked the pipeline and some folders of tests in its overview of the tree."""
    text = (TREE / "CONTRIBUTING.md").read_text()
    house = text[text.index("## The folders") : text.index("## Rules")]
    tests = {file.relative_to(TREE / "tests").parts[0] for file in files("tests") if file.parent != TREE / "tests"}
    folders = {f"{each}/" for each in tests | {"tests", "tools", "benchmarks", "docker", "examples", "actions"}}
    wanted = {f"{root}/{package}" for root, package in ROOTS.items()} | folders
    assert sorted(each for each in wanted if not re.search(rf"(?<![\w/]){re.escape(each)}", house)) == []


def test_modules_are_short() -> None:
    """Only code counts, because the module docstring may be long. A generated module may have any length."""
    lengths = {shown(file): file.read_text().count("\n") - (ast.get_docstring(tree) or "").count("\n") for file, tree in modules()}
    assert {name: length for name, length in lengths.items() if length > LONGEST_MODULE and name not in PAGES.values()} == {}


def test_functions_are_short() -> None:
    long = [
        f"{shown(file)}:{node.lineno} {node.name}: {size} lines"
        for file, tree in modules()
        for node in functions(tree.body)
        if (size := (node.end_lineno or 0) - node.lineno + 1) > LONGEST_FUNCTION
    ]
    assert long == []


def test_a_behaviour_file_has_the_stem_of_its_message_file() -> None:
    messages = {file.stem for file in (TREE / "codec/groupmock_codec/messages").glob("k*.py")}
    behaviours = {file.stem for file in (TREE / "broker/groupmock/core/apis").glob("k[0-9]*.py")}
    assert messages, "no message files where the registry looks for them"
    assert behaviours, "no behaviour files where the dispatcher looks for them"
    assert behaviours - messages == set()


def test_a_stem_is_the_key_in_at_least_two_digits_and_the_name() -> None:
    """Two spellings of a key, such as k8 and k08, would be two files of one API."""
    shape = re.compile(r"k(\d\d|[1-9]\d\d+)_[a-z_]+")
    wrong = [file.stem for file in (TREE / "codec/groupmock_codec/messages").glob("k*.py") if not shape.fullmatch(file.stem)]
    assert wrong == []


def test_the_core_reads_no_clock_and_throws_no_dice_of_its_own() -> None:
    """Import contracts cannot detect calls of uuid functions and of builtins such as open(), so this test looks for them in the core."""
    forbidden = {"uuid1", "uuid4", "open", "print", "input", "breakpoint"}
    found = [
        f"{shown(file)}:{node.lineno} {name}"
        for file, tree in modules()
        if "core" in file.relative_to(TREE).parts
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (name := getattr(node.func, "id", None) or (getattr(node.func, "attr", "") if called_on_uuid(node.func) else "")) in forbidden
    ]
    assert found == []


def called_on_uuid(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "uuid"


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    """Return the lines of the tree's text files that match, except in this file, which contains the patterns."""
    # In a worktree .git is a file that contains the path of another folder.
    top = [file for file in TREE.iterdir() if file.is_file() and file.name != ".git"]
    return [
        f"{shown(file)}:{number} {line.strip()[:120]}"
        for file in (*files(*(folder for folder in FOLDERS if (TREE / folder).is_dir())), *top)
        if file.suffix in TEXT and file != Path(__file__).resolve()
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]


def test_what_a_member_of_a_classic_group_says_is_written_once() -> None:
    """All scripted clients use `groupmock.rig.ClassicMember` instead of sending group requests themselves. The performance budgets are
    an exception, because they join members by the thousand and read no answers."""
    made = re.compile(r"(?<!class )\bSyncGroupRequest\(")
    homes = {"broker/groupmock/rig/classic_member.py", "tools/budgets/state.py"}
    assert {shown(file) for file, _ in modules() if made.search(file.read_text())} == homes


def test_nothing_names_a_path_of_one_machine() -> None:
    assert lines_with(re.compile(r"(?<![\w.])/(?:work|root|home/\w+|Users/\w+)/")) == []


def test_nothing_names_a_package_registry() -> None:
    """Dependencies are pinned by version and not by address, so that a mirror works."""
    hosts = (r"pypi\.org", r"pythonhosted", r"registry\.npmjs", r"registry\.yarnpkg", r"proxy\.golang", r"repo1?\.maven", r"maven\.org")
    assert lines_with(re.compile("|".join(hosts))) == []


SHARED_DOCUMENTS = {"kafka.py"}
"""Files that developers have next to the tree and that comments cite."""
MADE_UP = {"block.py", "name.py", "test_lost_sync.py", "test_one_of_several.py", "_page.py"}
"""Names of files that tools or readers of a page create."""


def test_every_file_that_the_product_cites_is_there() -> None:
    """Every cited file must exist, because two sentences once cited files that had been renamed."""
    known = {shown(file) for file in files(*FOLDERS)} | {file.name for file in TREE.iterdir()}
    cited = re.compile(r"(?<![\w./-])((?:[\w-]+/)*[\w-]+\.(?:py|md))\b(?!\()")
    lost = [
        f"{shown(file)}: {name}"
        for file, _ in modules()
        for name in cited.findall(file.read_text())
        if name.rpartition("/")[2] not in SHARED_DOCUMENTS | MADE_UP and not any(f"/{each}".endswith(f"/{name}") for each in known)
    ]
    assert lost == []


def test_nothing_is_left_for_later() -> None:
    """A note about unfinished work belongs in an issue."""
    assert lines_with(re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")) == []
