"""Every rule of the index has an exchange that runs or one that says what it needs, and exchanges cite only existing rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from cases import for_each

from groupmock_clients.probe.language.exchange import RELEASES, Exchange
from groupmock_clients.probe.language.exchange_suite import load_suite

SUITE = load_suite()
EXCHANGES = SUITE.exchanges
ROWS = list(SUITE.rows)
ROOT = Path(__file__).parents[2]


def test_every_row_has_an_exchange() -> None:
    proven = {row for exchange in EXCHANGES for row in exchange.rows}
    assert [row for row in ROWS if row not in proven] == []


def test_every_exchange_names_rows_of_the_index() -> None:
    assert {row for exchange in EXCHANGES for row in exchange.rows} - set(ROWS) == set()


@for_each(("page", "prefix"), [("consumer-groups", "CG"), ("security", "SEC"), ("share-groups", "SG"), ("streams-groups", "ST")])
def test_every_statement_of_a_page_has_a_row_or_a_reason(page: str, prefix: str) -> None:
    text = (ROOT / "docs" / "kafka" / f"{page}.md").read_text(encoding="utf-8")
    checked = re.split(r"^## .*How each statement is checked$", f"{text}\n", flags=re.MULTILINE)[-1] if "How each" in text else ""
    checked = checked.partition("\n## ")[0]
    ranges = re.findall(rf"^\| {prefix}-(\d+)(?: to {prefix}-(\d+))? \|", checked, re.MULTILINE)
    without = {f"{prefix}-{number:02}" for first, last in ranges for number in range(int(first), int(last or first) + 1)}
    stated = {f"{prefix}-{number}" for number in re.findall(rf'<a id="{prefix.lower()}-(\d+)"', text)}
    rows = {row for row in ROWS if row.startswith(f"{prefix}-")}
    assert stated - rows == without
    assert rows <= stated
    assert all((ROOT / path).is_file() for path in re.findall(r"`(tests/(?:unit|live)/\S+\.py)`", checked))


def test_what_is_not_run_is_counted(record_property: Callable[[str, object], None]) -> None:
    """Record per release how many exchanges and dialogues run, and how many need something that is missing."""
    needs = Counter(need for exchange in EXCHANGES for need in exchange.lacking)
    run = {release: sum(_dialogues(each) for each in EXCHANGES if _runs(each, release)) for release in RELEASES}
    # tests/exchanges/test_exchanges_on_listeners.py plays what needs listeners.
    only_needed = [row for row in ROWS if all(set(each.lacking) - {"listeners"} for each in EXCHANGES if row in each.rows)]
    print(f"\n{len(EXCHANGES)} exchanges; dialogues on the core: {run}; needs: {dict(needs)}; rows not run: {' '.join(only_needed)}")
    record_property("needs", dict(needs))
    assert set(only_needed) == NOT_RUN


def _runs(exchange: Exchange, release: str) -> bool:
    return not exchange.lacking and "core" in exchange.stages and release in exchange.releases


def _dialogues(exchange: Exchange) -> int:
    return sum(1 for _ in exchange.variants())


NOT_RUN_TEXT = "C1 H2 J7 L-dead P1-c4 P2-c12 P2-d10 S3 TX-09 TX-27 CG-04"
NOT_RUN = set(NOT_RUN_TEXT.split())
"""Rules that are covered only by exchanges that the core cannot run yet. Adding one needs a decision."""
