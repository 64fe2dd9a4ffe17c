"""docs/faults.md is what the kinds, the plans and the recorded runs say."""

from __future__ import annotations

from pathlib import Path

from groupmock.faults.kind import all_kinds
from groupmock.faults.plan import ready_plans
from tools.pages import faults_page


def test_the_page_is_current(tree: Path) -> None:
    text = (tree / "docs" / "faults.md").read_text()
    assert text == faults_page.page(faults_page.load()), "run `python -m tools.pages.faults_page`"
    assert all(f"| `{kind}`" in text for kind in all_kinds())
    assert all(f"### `{name}`" in text for name in ready_plans())
