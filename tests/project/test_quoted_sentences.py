"""Every sentence that a page or a live test quotes can still be produced by groupmock, so a changed sentence reveals outdated
quotations. A quotation is a line of a story in a page, or a text that a live test looks for. It is cut at names and numbers, and each
run of words between two cuts must be composed of strings in the product's source; only the first and the last string may be incomplete."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from tools.gate.syntax_trees import tree_of
from tools.runs import ROOT

Words = tuple[str, ...]
PRODUCT: Final = ("broker", "clients", "pipeline")
SENTENCES: Final = frozenset(("scenarios", "server", "story", "watch"))
"""Packages in which a string of one word may be a piece of a sentence. In other packages such a string is a name."""
STORY_LINE: Final = re.compile(r"^ +\d+\.\d{3} +(?:s (?:info|warning) +)?(?P<told>\S.*)$", re.MULTILINE)
"""Matches a line of a story or of the log."""
WORD: Final = re.compile(r"[A-Za-z][A-Za-z'_-]*[A-Za-z]|[A-Za-z]")
NAME: Final = re.compile(
    r"""(?<!\w)'[^']*' | (?<=group\ )\S+: | Spark:\ pip\ install | groupmock\ \w+: | --\w+\ \w+ |
    \S*(?:\d|\#|\\[dwS]|\.\*|=|/)\S* | [A-Z]+_[A-Z_]+ | \b[A-Z][a-z]+[A-Z]\w+ |
    consumer\ poll\ timeout\ has\ expired | \b(?:[a-z]+_)+[a-z]+\b | \((?:\?s|by\ the\ client|no\ member)\)""",
    re.VERBOSE,
)
"""Matches the names and numbers in a quotation, in whose place any text may stand."""
NAMES: Final = frozenset(
    (
        "Empty",
        "Ongoing",
        "Stable",
        "ada",
        "aiokafka",
        "bills",
        "cashier",
        "cleo",
        "cooperative-sticky",
        "kafka-python",
        "n",
        "order",
        "orders",
        "range",
    )
)
"""Names in quotations that look like words."""
OTHERS: Final = frozenset(
    (
        "Failed fetch messages",
        "PLAIN mechanism handshake failed",
        "API version not supported",
        "the following arguments are required: OUT",
        '{"event": "ready", "library": "aiokafka 0.14.0"}\n',
        "the moon is full",
        "no such words",
        ">       view = await broker.wait_for(",
    )
)
"""Texts that live tests look for and that another program prints."""
OTHER_FOLDERS: Final = frozenset(("actions", "benchmarks", "exchanges", "judge", "page", "timeline"))
"""Folders of live tests that look at a browser's page or at tools."""


@cache
def pieces() -> frozenset[Words]:
    """Return the words of every string in the product's source that is not a docstring."""
    found: set[Words] = set()
    for path in (path for part in PRODUCT for path in (ROOT / part).rglob("*.py")):
        tree = tree_of(path)
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        of_sentences = not SENTENCES.isdisjoint(path.parts)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                texts = (tuple(WORD.findall(text)) for text in re.split(r"\{[^}]*\}|%[srd]|\n", node.value))
                found.update(piece for piece in texts if len(piece) > 1 or of_sentences)
    return frozenset(found)


@cache
def beginnings() -> frozenset[Words]:
    """Return the prefixes, of two words or more, of all pieces."""
    return frozenset(piece[:end] for piece in pieces() for end in range(2, len(piece) + 1))


@cache
def endings() -> frozenset[Words]:
    return frozenset(piece[begin:] for piece in pieces() for begin in range(len(piece) - 1))


@cache
def insides() -> frozenset[Words]:
    return frozenset(piece[begin:end] for piece in pieces() for begin in range(len(piece)) for end in range(begin + 1, len(piece) + 1))


def can_be_said(run: Words) -> bool:
    """Return whether the words can be composed of pieces, where the first and the last piece may be cut. Two pieces of one word may not
    follow each other, because single words compose almost any sentence."""
    if run in insides():
        return True
    reached = {(0, False), *((end, end == 1) for end in range(1, len(run)) if run[:end] in endings() or run[:end] in pieces())}
    for begin in range(len(run)):
        for single in (True, False):
            if (begin, single) not in reached:
                continue
            for end in range(begin + 1 + single, len(run) + 1):
                if run[begin:end] in pieces() or (end == len(run) and run[begin:] in beginnings()):
                    reached.add((end, end == begin + 1))
    return not reached.isdisjoint({(len(run), True), (len(run), False)})


def unsaid(quoted: str) -> list[str]:
    """Return the runs of three or more words in a quotation that groupmock cannot print."""
    runs = []
    for part in NAME.split(quoted):
        run: list[str] = []
        for word in [*WORD.findall(part), None]:
            if word is None or word in NAMES:
                runs.append(tuple(run))
                run = []
            else:
                run.append(word)
    return [" ".join(run) for run in runs if len(run) > 2 and not can_be_said(run)]


def quoted_by_pages() -> Iterator[tuple[str, str]]:
    """Yield location and text of every line of a story in the pages."""
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for found in STORY_LINE.finditer(text := path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(ROOT)}:{text[: found.start()].count(chr(10)) + 1}", found["told"]


def looked_for(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the expressions that a test compares with or matches."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            yield node
        elif isinstance(node, ast.For):
            yield node.iter
        elif isinstance(node, ast.keyword) and node.arg == "match":
            yield node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("search", "fullmatch", "compile"):
            yield from node.args


def quoted_by_live_tests() -> Iterator[tuple[str, str]]:
    """Yield location and text of every string of three or more words that a live test looks for."""
    for path in (ROOT / "tests" / "live").rglob("test_*.py"):
        if path.parent.name in OTHER_FOLDERS:
            continue
        for node in looked_for(tree_of(path)):
            for each in ast.walk(node):
                text = each.value if isinstance(each, ast.Constant) else None
                if isinstance(text, str) and " " in text and len(WORD.findall(text)) >= 3:
                    yield f"{path.relative_to(ROOT)}:{each.lineno}", text


def stale(quotations: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{place}: nobody says {' … '.join(wrong)!r}" for place, text in quotations if text not in OTHERS and (wrong := unsaid(text))]


def test_what_was_said_before_is_named() -> None:
    assert unsaid("12.912 ben#78e5's session ended, no heartbeat came for 3 s") == ["session ended no heartbeat came for"]
    assert unsaid("ben#78e5 is gone: its session expired -> rebalance") == []


def test_pages_quote_what_stories_say() -> None:
    quoted = list(quoted_by_pages())
    assert len(quoted) > 50
    assert stale(quoted) == []


def test_live_tests_look_for_what_is_said() -> None:
    quoted = list(quoted_by_live_tests())
    assert len(quoted) > 20
    assert stale(quoted) == []
