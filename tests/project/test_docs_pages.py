"""The pages that come from the program say what the program says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.pages import docs_pages

CHEAP = ["reference/settings.md", "reference/journal.md", "reference/states.md", "reference/control.md", "proof/fidelity.md"]


@pytest.mark.parametrize("page", CHEAP)
def test_generated_page_is_current(page: str, tree: Path) -> None:
    assert (tree / "docs" / page).read_text() == docs_pages.PAGES[page](), "run `make docs`"


def test_every_generated_page_is_compared() -> None:
    reference = {f"reference/{page}.md" for page in ("settings", "journal", "states", "control")}
    assert set(docs_pages.PAGES) == {*reference, "proof/fidelity.md", "proof/scenarios.md"}
