"""Checks that the tree's texts read plainly, and draws a sample of them for a reader who has not seen the code.

    python -m tools.gate.plain_words           # docstrings that begin like a riddle or are fragments; exit code 1 if there are new ones
    python -m tools.gate.plain_words sample    # 100 docstrings, 100 comments, 40 sentences of docs and 20 commit subjects

The sample's seed is the hash of the last commit, so that nobody chooses it. CONTRIBUTING.md has the rules that both look after.
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from .syntax_trees import tree_of

TREE: Final = Path(__file__).resolve().parents[2]
ROOTS: Final = ("broker", "clients", "codec", "pipeline", "tools", "benchmarks", "docker", "tests")
GENERATED: Final = ("codec/groupmock_codec/messages/", "tests/interop/", "docs/reference/")
RIDDLE: Final = re.compile(r"(Who|Whoever|Whose|What|Which|How|Of|As|By|Where)\b")
"""Matches the beginning of a docstring that has no subject, unless it asks a question."""
FEWEST_WORDS: Final = 5
LONGEST_SUBJECT: Final = 72
PRAGMA: Final = re.compile(r"#\s*(noqa|type:|fmt:|pragma|ruff:|mypy:|!|--)")
SAMPLE: Final = {"docstring": 100, "comment": 100, "docs": 40, "commit": 20}


class Text(NamedTuple):
    path: str
    line: int
    name: str
    text: str

    @property
    def sentence(self) -> str:
        flat = " ".join(self.text.split())
        end = re.search(r"[.?!](?=\s|$)", flat)
        return flat[: end.end()] if end else flat


def modules() -> Iterator[tuple[str, str, ast.Module]]:
    """Yield the path, the text and the syntax tree of every module that is written by hand."""
    for root in ROOTS:
        for path in sorted((TREE / root).rglob("*.py")):
            name = path.relative_to(TREE).as_posix()
            if "node_modules" not in path.parts and not name.startswith(GENERATED):
                yield name, path.read_text(encoding="utf-8"), tree_of(path)


def docstrings(path: str, tree: ast.Module) -> Iterator[Text]:
    """Yield the docstrings of the module, its classes and functions, and the strings that document an assignment above them."""
    for owner in ast.walk(tree):
        if not isinstance(owner, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        above: ast.AST = owner
        for statement in owner.body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str):
                yield Text(path, statement.lineno, _name(above), statement.value.value)
            above = statement


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.AnnAssign | ast.Assign):
        return ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
    return getattr(node, "name", "the module")


def comments(path: str, source: str, tree: ast.Module) -> Iterator[Text]:
    """Yield comments, those of consecutive lines as one, with the name of the function or class around them."""
    scopes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    block: list[tokenize.TokenInfo] = []
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    found = [token for token in tokens if token.type == tokenize.COMMENT and not PRAGMA.match(token.string)]
    for index, token in enumerate(found):
        block.append(token)
        after = found[index + 1] if index + 1 < len(found) else None
        if after is None or after.start != (token.start[0] + 1, token.start[1]):
            line = block[0].start[0]
            around = [scope.name for scope in scopes if scope.lineno <= line <= (scope.end_lineno or 0)]
            yield Text(path, line, around[-1] if around else "the module", " ".join(part.string.lstrip("# ") for part in block))
            block = []


def sentences_of_docs() -> Iterator[Text]:
    for path in sorted([*TREE.glob("*.md"), *(TREE / "docs").rglob("*.md")]):
        name, heading = path.relative_to(TREE).as_posix(), "the page"
        if name.startswith(GENERATED):
            continue
        prose = re.sub(r"^(```|~~~).*?^\1", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*#|]|\d+\.) )", prose):
            flat = " ".join(block.split())
            if flat.startswith("#"):
                heading = flat.strip("# ")
            elif flat and not flat.startswith(("|", "<", "!")):
                sentences = re.split(r"(?<=[.!?])\s+", re.sub(r"^([-*>]|\d+\.) +", "", flat))
                yield from (Text(name, 0, heading, sentence) for sentence in sentences if len(sentence.split()) > 2)


def subjects(count: int) -> list[Text]:
    log = subprocess.run(["git", "log", f"-{count}", "--format=%h %s"], cwd=TREE, capture_output=True, text=True, check=True)
    return [Text("git log", 0, *line.split(" ", 1)) for line in log.stdout.splitlines()]


def is_plain(text: Text) -> bool:
    sentence = text.sentence
    return sentence.endswith("?") or not (RIDDLE.match(sentence) or len(sentence.split()) < FEWEST_WORDS)


def refused() -> list[str]:
    """Return the docstrings that must be rewritten, each with its place."""
    return [
        f'{path}:{text.line} {text.name}: "{text.sentence}"'
        for path, _, tree in modules()
        for text in docstrings(path, tree)
        if not is_plain(text)
    ]


def sample() -> Iterator[str]:
    seed = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TREE, capture_output=True, text=True, check=True).stdout.strip()
    files = [*modules()]
    kinds = {
        "docstring": [text for path, _, tree in files for text in docstrings(path, tree)],
        "comment": [text for file in files for text in comments(*file)],
        "docs": [*sentences_of_docs()],
        "commit": subjects(200),
    }
    yield f"# drawn by {seed}"
    for kind, texts in kinds.items():
        drawn = random.Random(f"{seed} {kind}").sample(texts, SAMPLE[kind])
        for number, text in enumerate(drawn, 1):
            shown = text.sentence if kind == "docstring" else " ".join(text.text.split())
            yield f"{kind} {number} | {text.path} | {text.name} | {shown}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("check", "sample"), default="check")
    if parser.parse_args().what == "sample":
        print(*sample(), sep="\n")
        return 0
    for text in subjects(50):
        if len(text.text) > LONGEST_SUBJECT:
            print(f"reported: the subject of commit {text.name} is longer than {LONGEST_SUBJECT} characters")
    lines = refused()
    for line in lines:
        print(line)
    if lines:
        print(f"{len(lines)} docstrings are fragments or begin like a riddle: write a full sentence, or delete what only repeats the name")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
