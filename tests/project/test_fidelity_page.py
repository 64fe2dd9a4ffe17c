"""The page about fidelity runs adds up the numbers of several runs of one release."""

from __future__ import annotations

from tools.fidelity.compare.canonical import Difference
from tools.fidelity.compare.counts import FamilyResult
from tools.pages.fidelity_page import page

KNOWN = "second-answer-to-a-refused-join"


def run(seeds: tuple[int, int], *, recorded: int, differences: int = 0) -> FamilyResult:
    found = [Difference(1, "error_code", 1, 0, 12, 4)] * differences
    apis = {"Heartbeat": {"4": [5, differences]}}
    return FamilyResult(
        "bytes", "3.9", "3.9.1", "plain", seeds, 10, 5, 1.0, 10.0, apis, {}, {}, found, [seeds[0]], {KNOWN: recorded}, noisy=0, replayed=0
    )  # fmt: skip


def rows(text: str, begin: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith(f"| {begin}")]


def test_runs_of_a_release_are_added_up() -> None:
    text = page([run((0, 10), recorded=2, differences=1), run((10, 20), recorded=3)], [], "T", "about")
    assert rows(text, "3.9.1")[0] == ["3.9.1", "20", "10", "1", "2 (10.00 %)", "1"]
    assert rows(text, "Heartbeat") == [["Heartbeat", "v4: 10"]]
    ((_, family, _, where),) = rows(text, f"`{KNOWN}`")
    assert (family, where) == ("groups, offsets, group admin", "3.9 (5)")


def test_each_run_has_its_line() -> None:
    text = page([run((0, 10), recorded=0), run((10, 20), recorded=0)], [], "T", "about")
    assert [(row[1], row[3], row[8]) for row in rows(text, "3.9.1")[1:]] == [("bad bytes", "0..9", "0"), ("bad bytes", "10..19", "10")]
