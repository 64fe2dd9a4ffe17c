"""Every citation in the tree resolves: pages and anchors of docs/, rules of docs/kafka and KIPs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
FOLDERS = ("codec", "broker", "clients", "pipeline", "tests", "tools", "docs", "benchmarks", "docker", "examples", "actions")
RECORDED = ("tests/data", "tests/golden", "tools/records", "benchmarks/figures")
"""Folders of recorded files, whose texts are data."""
TEXT = {".py", ".md", ".exchange", ".toml", ".sh", ".js", ".mjs", ".go", ".java"}
KAFKA = TREE / "docs/kafka"
ROWS = "rows.toml"
NUMBER = re.compile(r"\b(?:(?:SERVER|CLIENT|CG|TX|SEC)-\d{2,3}|P[12]-[bcd]\d+)\b")
PAGE = re.compile(r"(?<![\w/.-])(docs/[\w./-]+\.md)(?:#([\w-]+))?")
LINK = re.compile(r"\]\(([^)\s#:]*\.md)?(?:#([\w-]+))?\)")
NO_SUCH_ROW = {"SERVER-99"}
"""Rule names that tests use because no such rule exists."""
OWN_ROWS = re.compile(r"D-[a-z-]+|versions")
"""Names of probe rules about topics and records, which docs/kafka does not number."""

NOWHERE = {
    "a specification by section": r"\b[Ss]pec (?:\d|Appendix|part\b)|\(spec[ ;]",
    "a chapter of checks": r"checked(?:-on-brokers)?(?:\.md)?,? (?:part [12]|\([a-d]\))|checked-on-brokers|\b[Pp]art [12] \([a-d]\)",
    "the house's design by section": r"\barchitecture (?:rule|section) \d|\((?:see )?rule [1-6]\b",
    "a page of limits by section": r"(?<![/(])\blimits\.md\b|\blimits section",
    "a page of clients by section": r"\(clients \d",
    "a table by number": r"\b[Tt]ables? \d\.\d",
    "a KIP in another spelling": r"\bKIP(?: |_)\d",
}
RULES_OF_LEADERS = "cooperative.md"
"""The page with the leader's rules; a file that cites the page may then cite its rules by number alone."""


def texts() -> Iterator[tuple[str, str]]:
    """Yield path and text of every file that a person or a page writer wrote, except this file."""
    roots = [path for folder in FOLDERS for path in (TREE / folder).rglob("*")]
    for file in sorted((*roots, *TREE.glob("*.md"))):
        name = file.relative_to(TREE).as_posix()
        if file.suffix not in TEXT or not file.is_file() or name.startswith(RECORDED) or file == Path(__file__).resolve():
            continue
        if not {"node_modules", "__pycache__", "target", "out"} & set(file.parts):
            yield name, file.read_text(errors="replace")


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page as GitHub and the site spell them: explicit anchors and headings."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found = set(re.findall(r'<a id="([^"]+)"></a>', text))
    for heading in re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE):
        bare = re.sub(r"<[^>]+>|\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        found.add(re.sub(r"[^\w -]", "", bare.lower()).strip().replace(" ", "-"))
    return frozenset(found)


@cache
def numbers() -> frozenset[str]:
    return frozenset(anchor for page in KAFKA.glob("*.md") for anchor in anchors(page))


def test_every_page_that_is_cited_is_there_and_has_the_anchor() -> None:
    lost = []
    for name, text in texts():
        for page, anchor in PAGE.findall(text):
            if not (TREE / page).is_file() or (anchor and anchor not in anchors(TREE / page)):
                lost.append(f"{name}: {page}#{anchor}")
    assert lost == []


def test_every_link_between_pages_leads_somewhere() -> None:
    lost = []
    for name, text in texts():
        if name.endswith(".md"):
            here = TREE / name
            for page, anchor in LINK.findall(re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)):
                there = (here.parent / page).resolve() if page else here
                if not there.is_file() or (anchor and anchor not in anchors(there)):
                    lost.append(f"{name}: {page}#{anchor}")
    assert lost == []


def test_every_number_opens_in_docs_kafka() -> None:
    cited = [(name, number) for name, text in texts() for number in set(NUMBER.findall(text)) - NO_SUCH_ROW]
    assert [f"{name}: {number}" for name, number in cited if number.lower() not in numbers()] == []


def test_every_row_of_the_probe_opens_in_docs_kafka() -> None:
    (file,) = (path for path in (TREE / "clients").rglob(ROWS))
    rows = {row for section in tomllib.loads(file.read_text()).values() for row in section["rows"]}
    assert sorted(row for row in rows if row.lower() not in numbers() and not OWN_ROWS.fullmatch(row)) == []


def test_a_number_is_given_once() -> None:
    given: dict[str, list[str]] = {}
    for page in KAFKA.glob("*.md"):
        for anchor in re.findall(r'<a id="([^"]+)"></a>', page.read_text()):
            given.setdefault(anchor, []).append(page.name)
    assert {anchor: pages for anchor, pages in given.items() if len(pages) > 1} == {}


@pytest.mark.parametrize("what", NOWHERE)
def test_nothing_cites(what: str) -> None:
    pattern = re.compile(NOWHERE[what])
    found = [
        f"{name}:{number}: {line.strip()[:110]}"
        for name, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


def test_rules_by_number_alone_name_their_page() -> None:
    """A comment like `Rule 7` means a leader rule, so its file must cite the page that has the rules."""
    bare = re.compile(r"(?:# |\"\"\")Rules? \d")
    assert [name for name, text in texts() if name.endswith(".py") and bare.search(text) and RULES_OF_LEADERS not in text] == []
