"""Sentences that pages and live tests quote are such as the product can say today, so that a changed sentence names the stale places.

A quotation is a line of a story in a page, or a text that a live test looks for. It is cut at names and numbers, and what is left between
two of them must be made of the texts in the product's source, each whole but for the first and the last.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from tools.runs import ROOT

Words = tuple[str, ...]
PRODUCT: Final = ("broker", "clients", "pipeline")
SENTENCES: Final = frozenset(("scenarios", "server", "story", "watch"))
"""Rooms in which a text of one word may be a piece of a sentence. Elsewhere it is a name."""
STORY_LINE: Final = re.compile(r"^ +\d+\.\d{3} +(?:s (?:info|warning) +)?(?P<told>\S.*)$", re.MULTILINE)
"""A line of a story, or of the log."""
WORD: Final = re.compile(r"[A-Za-z][A-Za-z'_-]*[A-Za-z]|[A-Za-z]")
NAME: Final = re.compile(
    r"""(?<!\w)'[^']*' | (?<=group\ )\S+: | Spark:\ pip\ install | groupmock\ \w+: | --\w+\ \w+ |
    \S*(?:\d|\#|\\[dwS]|\.\*|=|/)\S* | [A-Z]+_[A-Z_]+ | \b[A-Z][a-z]+[A-Z]\w+ |
    consumer\ poll\ timeout\ has\ expired | \b(?:[a-z]+_)+[a-z]+\b | \((?:\?s|by\ the\ client|no\ member)\)""",
    re.VERBOSE,
)
"""Matches the names and numbers in a quotation, and patterns for them, in whose place anything may stand."""
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
        "Failed fetch messages",  # aiokafka
        "PLAIN mechanism handshake failed",  # librdkafka
        "API version not supported",  # librdkafka
        "the following arguments are required: OUT",  # argparse
        '{"event": "ready", "library": "aiokafka 0.14.0"}\n',  # what a member writes
        "the moon is full",  # a reason that the test gave
        "no such words",  # a plan that is none
        ">       view = await broker.wait_for(",  # pytest, of the test's own source
    )
)
"""Texts that live tests look for and that groupmock does not say."""
OTHER_FOLDERS: Final = frozenset(("actions", "benchmarks", "exchanges", "judge", "page", "timeline"))
"""Folders of live tests that look at a browser's page or at tools."""


@cache
def pieces() -> frozenset[Words]:
    """The words of every text in the product's source that is no docstring."""
    found: set[Words] = set()
    for path in (path for part in PRODUCT for path in (ROOT / part).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        of_sentences = not SENTENCES.isdisjoint(path.parts)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                texts = (tuple(WORD.findall(text)) for text in re.split(r"\{[^}]*\}|%[srd]|\n", node.value))
                found.update(piece for piece in texts if len(piece) > 1 or of_sentences)
    return frozenset(found)


@cache
def beginnings() -> frozenset[Words]:
    """Two words and more with which a piece begins."""
    return frozenset(piece[:end] for piece in pieces() for end in range(2, len(piece) + 1))


@cache
def endings() -> frozenset[Words]:
    return frozenset(piece[begin:] for piece in pieces() for begin in range(len(piece) - 1))


@cache
def insides() -> frozenset[Words]:
    return frozenset(piece[begin:end] for piece in pieces() for begin in range(len(piece)) for end in range(begin + 1, len(piece) + 1))


def can_be_said(run: Words) -> bool:
    """Are these words made of pieces, the first from its middle on and the last as far as it was quoted? Of two neighbours one has several
    words, because almost anything can be made of single ones."""
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
    """The runs of three words and more in a quotation that the product cannot say."""
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
    """Place and text of every line of a story."""
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
    """Place and text of everything of three words and more that a live test looks for."""
    for path in (ROOT / "tests" / "live").rglob("test_*.py"):
        if path.parent.name in OTHER_FOLDERS:
            continue
        for node in looked_for(ast.parse(path.read_text(encoding="utf-8"))):
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
